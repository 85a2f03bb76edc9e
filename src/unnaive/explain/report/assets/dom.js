// Small tools: elements, numbers as text, colours.

// An element; text is always set as text, never as markup.
U.el = (tag, given = {}, ...children) => U.fill(document.createElement(tag), given, children);

U.svg = (tag, given = {}, ...children) =>
  U.fill(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);

U.fill = (node, given, children) => {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

U.refill = (node, ...children) => { node.replaceChildren(); return U.fill(node, {}, children); };

// A button that shows the rest of a list.
U.more = (place, shown, all, text, act) =>
  U.refill(place, shown.length < all.length ? U.el("button", { type: "button", onclick: act }, text) : null);

// A name of the user's: kept apart from the text around it, whatever its direction.
U.name = (text, given = {}) => U.el("bdi", { title: text, ...given }, ...U.breaks(text));

// Text that may break after the signs that part words in names.
U.breaks = (text) => String(text).split(/(?<=[_.\-\/])/).flatMap((part, k) => (k ? [U.el("wbr"), part] : [part]));

// The same on one line: where room is short, the middle is left out, as long names often differ at their ends.
U.TAIL = 6; // letters
U.short = (text) => {
  const letters = [...text];
  if (letters.length <= 2 * U.TAIL) return U.name(text);
  const head = U.el("span", {}, letters.slice(0, -U.TAIL).join(""));
  return U.el("bdi", { class: "short", title: text }, head, letters.slice(-U.TAIL).join(""));
};

U.byId = (id) => document.getElementById(id);

U.field = (label, control) => U.el("label", { class: "field" }, U.el("span", {}, label), control);

U.select = (options, chosen, change, given = {}) => {
  const box = U.el("select", { onchange: () => change(Number(box.value)), ...given });
  options.forEach((text, k) => box.append(U.el("option", { value: k, selected: k === chosen }, text)));
  return box;
};

U.check = (label, on, change) => {
  const box = U.el("input", { type: "checkbox", checked: on, onchange: () => change(box.checked) });
  return U.el("label", { class: "check" }, box, label);
};

// Colours of classes: eight that are safe for colour-blind readers; with more classes, grey.
U.color = (c, n) => (n <= 8 ? `var(--c${c})` : "var(--other)");

U.dot = (c, n) => U.el("span", { class: "dot", style: { background: U.color(c, n) } });

// Three names below a curve over the points of a density.
U.pointNames = (picture, values, x, y) => {
  const last = values.length - 2;
  for (const k of [0, Math.floor(last / 2), last]) {
    picture.append(U.svg("text", { class: "tick", x: x(k), y, "text-anchor": k === 0 ? "start" : k === last ? "end" : "middle" }, values[k + 1]));
  }
};

// Numbers as text ----------------------------------------------------------------------------

U.number = (x, digits = 4) => {
  if (Number.isNaN(x)) return "missing";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return x.toLocaleString("en");
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(digits - 1).replace(/\.?0+e/, "e");
  return String(Number(x.toPrecision(digits)));
};

// Weight of rows: whole, or by responsibility.
U.count = (weight) => (Number.isInteger(weight) || weight >= 100 ? Math.round(weight).toLocaleString("en") : String(Number(weight.toPrecision(2))));

U.rows = (weight) => `${U.count(weight)} ${weight === 1 ? "row" : "rows"}`;

U.percent = (p) => {
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  if (p < 1 && p > 0.9995) return "> 99.9 %";
  return `${(100 * p).toFixed(1)} %`;
};

U.signed = (x) => {
  if (x > U.RULED) return "certain";
  if (x < -U.RULED) return "ruled out";
  return Math.abs(x) < 0.005 ? "0" : `${x > 0 ? "+" : "\u2212"}${Math.abs(x).toFixed(2)}`;
};

U.RULED = 1000; // stronger evidence is that of a value that a class never had
U.FAR = 25; // evidence beyond all scales

U.moment = (microseconds, family) => {
  if (Number.isNaN(microseconds)) return "missing";
  if (family === "duration") {
    const seconds = microseconds / 1e6, days = Math.trunc(seconds / 86400);
    const rest = new Date(Math.abs(seconds % 86400) * 1000);
    const clock = rest.toISOString().slice(11, 19);
    return `${days ? `${days} d ` : seconds < 0 ? "\u2212" : ""}${clock}`;
  }
  const date = new Date(microseconds / 1000);
  if (Number.isNaN(date.getTime())) return U.number(microseconds);
  return date.toISOString().replace("T", " ").replace(/(:00)?\.000Z$/, "").replace("Z", "").replace(/ 00:00$/, "");
};

// A value of a column as text.
U.value = (column, value) => {
  if (column.levels) return column.levels[value] ?? "missing";
  if (column.kind === "numeric") {
    return column.family === "number" ? U.number(value, 6) : U.moment(value, column.family);
  }
  if (!column.names || value === 0) return "missing";
  return value <= column.names.length ? column.names[value - 1] : "a value never seen";
};
