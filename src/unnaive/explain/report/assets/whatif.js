// The nomogram: set values, watch the evidence add up and the probability move.
U.whatIf = (place, data, model) => {
  const { columns, classes } = data, n = classes.length;
  const state = {
    row: data.typical.slice(),
    of: n === 2 ? 1 : -1, // class to explain; -1 is the most probable one
    against: -1, // the class to compare with; -1 is the most probable other one
    order: 0, all: false, search: "",
  };
  const MOST = 24; // attributes shown at first
  const additive = Boolean(model.parts);

  // Evidence of one attribute for class a against class b -----------------------------------------
  const logOdds = (p, a, b) => {
    const tiny = 1e-12;
    return Math.log(Math.max(p[a], tiny)) - Math.log(Math.max(p[b], tiny));
  };
  const missing = (j) => (columns[j].kind === "numeric" ? NaN : 0);
  const withValue = (j, value) => { const row = state.row.slice(); row[j] = value; return row; };

  // A function from a value to its evidence; where parts vote, to the change in log odds
  // compared with a missing value.
  const evidenceOf = (j, a, b, parts) => {
    if (additive) return (value) => { const term = parts.term(j, value); return term[a] - term[b]; };
    const without = logOdds(model.proba(withValue(j, missing(j))), a, b);
    return (value) => logOdds(model.proba(withValue(j, value)), a, b) - without;
  };

  // The values to mark on an attribute's axis.
  const marks = columns.map((column) => {
    if (column.kind === "categorical" && column.names) {
      return column.names.slice(0, 60).map((_, k) => k + 1);
    }
    if (column.levels) return column.levels.slice(0, 60).map((_, k) => k);
    if (column.kind !== "numeric" || !(column.high >= column.low)) return [];
    const inside = column.cuts && Array.from(column.cuts).filter((c) => c >= column.low && c < column.high);
    if (inside && inside.length && inside.length <= 40) {
      const edges = [column.low, ...inside, column.high];
      return edges.slice(1).map((edge, k) => (k === inside.length ? edge : (edges[k] + edge) / 2));
    }
    if (column.cuts && !inside.length) return [column.low];
    return Array.from({ length: 25 }, (_, k) => column.low + (k / 24) * (column.high - column.low));
  });

  // Controls -----------------------------------------------------------------------------------
  const answer = U.el("div", { class: "answer-pane" }), reasons = U.el("div", {});
  const inputs = U.el("div", { class: "inputs" });
  const more = U.el("p", {});
  const heads = U.el("span", { class: "axis-lane" });
  const rowBox = U.el("select", { id: "try-row", onchange: () => start(Number(rowBox.value)) });
  const rowNames = data.rows.at.map((at, i) => {
    const truth = data.rows.truth ? `, ${classes[data.rows.truth[i]]}` : "";
    return `row ${at}${truth}${data.rows.wrong && data.rows.wrong[i] ? " (predicted wrongly)" : ""}`;
  });
  rowBox.append(U.el("option", { value: -1 }, "a typical row"), U.el("option", { value: -2 }, "all values missing"));
  rowNames.forEach((text, i) => rowBox.append(U.el("option", { value: i }, text)));

  const start = (i) => {
    if (i === -1) state.row = data.typical.slice();
    else if (i === -2) state.row = columns.map((_, j) => missing(j));
    else state.row = columns.map((_, j) => data.rows.values[j][i]);
    rowBox.value = i;
    columns.forEach((_, j) => { if (lines[j]) lines[j].show(); });
    update();
  };
  const step = (by) => {
    const last = data.rows.at.length - 1, now = Number(rowBox.value);
    if (last >= 0) start(Math.min(Math.max(now < 0 ? (by > 0 ? 0 : last) : now + by, 0), last));
  };

  const set = (j, value) => {
    state.row[j] = value;
    rowBox.selectedIndex = -1;
    if (lines[j]) lines[j].show();
    update();
  };

  const line = (j) => {
    const column = columns[j];
    const control = U.el("div", { class: "control" });
    const lane = U.el("div", { class: "axis-lane", "aria-hidden": "true" });
    const effect = U.el("div", { class: "effect" });
    const label = `in-${j}`;
    const onPath = U.el("small", { hidden: true }, " on the path");
    let show = () => {};
    if (column.levels) {
      const box = U.select(["missing", ...column.levels], 0, (k) => set(j, k ? k - 1 : NaN), { id: label });
      control.append(box);
      show = () => { box.value = Number.isNaN(state.row[j]) ? 0 : state.row[j] + 1; };
    } else if (column.kind === "numeric") show = numberControl(j, column, control, label);
    else if (column.names) {
      const options = ["missing", ...column.names, "a value never seen"];
      const box = U.select(options, 0, (slot) => set(j, slot), { id: label });
      control.append(box);
      show = () => { box.value = state.row[j]; };
    } else control.append(U.el("small", {}, "no value in training"));
    const node = U.el("div", { class: "input" },
      U.el("label", { class: "name", for: label }, U.name(column.name), onPath), control, lane, effect);
    lane.addEventListener("click", (event) => {
      const box = lane.getBoundingClientRect(), at = (event.clientX - box.left) / box.width;
      const here = lines[j].places;
      if (!here || !here.length) return;
      const best = here.reduce((one, two) => (Math.abs(one[1] - at) <= Math.abs(two[1] - at) ? one : two));
      set(j, best[0]);
    });
    return { node, lane, effect, onPath, show: () => { show(); node.classList.toggle("absent", Number.isNaN(state.row[j])); } };
  };

  const numberControl = (j, column, control, label) => {
    const low = column.low, high = column.high, wide = high > low;
    const whole = column.whole && high - low <= 1e6;
    const slider = U.el("input", {
      type: "range", id: label, min: low, max: high, disabled: !wide,
      step: whole ? 1 : (high - low) / 256 || "any", "aria-label": column.name,
    });
    const plain = column.family === "number";
    const box = plain
      ? U.el("input", { type: "number", step: "any", "aria-label": `${column.name}, exact value` })
      : U.el("small", {});
    const clear = U.el("button", { type: "button", title: "set to missing", "aria-label": `${column.name} missing` }, "NA");
    slider.addEventListener("input", () => set(j, Number(slider.value)));
    if (plain) {
      box.addEventListener("input", () => {
        const value = box.value === "" ? NaN : Number(box.value);
        if (box.value === "" && box.validity.badInput) return;
        if (Number.isFinite(value) || Number.isNaN(value)) { state.typing = box; set(j, value); state.typing = null; }
      });
    }
    clear.addEventListener("click", () => set(j, NaN));
    control.append(slider, box, clear);
    return () => {
      const value = state.row[j];
      slider.value = Number.isNaN(value) ? (low + high) / 2 : value;
      slider.setAttribute("aria-valuetext", U.value(column, value));
      clear.setAttribute("aria-pressed", Number.isNaN(value));
      if (!plain) box.textContent = U.value(column, value);
      else if (state.typing !== box) box.value = Number.isNaN(value) ? "" : Number(value.toPrecision(12));
    };
  };

  const lines = columns.map(() => null);
  const lineOf = (j) => { if (!lines[j]) { lines[j] = line(j); lines[j].show(); } return lines[j]; };

  // Which attributes are shown, in which order ---------------------------------------------------
  let shown = [];
  const arrange = () => {
    const order = columns.map((_, j) => j);
    if (state.order === 0) order.sort((i, j) => data.importance[j] - data.importance[i] || i - j);
    if (state.order === 1) {
      const { a, b, parts } = standing();
      const size = columns.map((_, j) => Math.abs(evidenceOf(j, a, b, parts)(state.row[j])));
      order.sort((i, j) => size[j] - size[i] || i - j);
    }
    if (state.order === 3) order.sort((i, j) => columns[i].name.localeCompare(columns[j].name));
    const matching = order.filter((j) => columns[j].name.toLowerCase().includes(state.search));
    shown = state.all ? matching : matching.slice(0, MOST);
    inputs.replaceChildren(...shown.map((j) => lineOf(j).node));
    U.more(more, shown, matching, `Show all ${matching.length} attributes`, () => { state.all = true; arrange(); update(); });
  };

  // The answer ---------------------------------------------------------------------------------
  const standing = () => {
    const p = model.proba(state.row);
    const a = state.of < 0 ? U.best(p) : state.of;
    let b = state.against;
    if (b < 0 || b === a) {
      b = a === 0 ? 1 : 0;
      for (let c = 0; c < n; c++) if (c !== a && p[c] > p[b]) b = c;
    }
    return { p, a, b: n > 1 ? b : a, parts: additive ? model.parts(state.row) : null };
  };

  const update = () => {
    const now = standing(), { a, b, parts } = now;
    // One scale for the evidence of all shown attributes. Where evidence adds up, the marks of an
    // axis stay in place until the classes or the leaf change.
    const key = additive ? `${parts.node} ${a} ${b}` : "";
    const current = shown.map((j) => {
      const of = evidenceOf(j, a, b, parts), line = lines[j];
      if (!key || line.key !== key) {
        line.at = marks[j].map((value) => [value, of(value)]);
        line.key = key;
        line.drawn = "";
      }
      return { j, evidence: of(state.row[j]), at: line.at };
    });
    let reach = 1;
    for (const { evidence, at } of current) {
      for (const x of [evidence, ...at.map((pair) => pair[1])]) if (Math.abs(x) < U.FAR) reach = Math.max(reach, Math.abs(x));
    }
    // Evidence has the colour of the class it favours.
    if (n <= 8) {
      place.style.setProperty("--for", U.color(a, n));
      place.style.setProperty("--against", U.color(b, n));
    }
    const left = (x) => 0.5 + 0.48 * Math.min(Math.max(x / reach, -1), 1);
    const path = model.routing ? model.routing.path(model.arrive(state.row)).map((node) => model.routing.attribute[node]) : [];
    for (const { j, evidence, at } of current) {
      paint(lines[j], evidence, at, left, key && `${key} ${reach}`);
      lines[j].onPath.hidden = !path.includes(j);
    }
    paintHeads(a, b, reach, left);
    paintAnswer(now);
    place.dispatchEvent(new CustomEvent("answered", { detail: { row: state.row, node: parts ? parts.node : undefined } }));
  };

  // The scale above the axes.
  const paintHeads = (a, b, reach, left) => {
    const step = reach > 8 ? 5 : reach > 3 ? 2 : reach > 1.5 ? 1 : 0.5, ticks = [];
    for (let x = step; x <= reach; x += step) ticks.push(-x, x);
    U.refill(heads,
      U.el("span", { class: "ends" }, n > 1 ? [U.el("span", {}, "\u2190 for ", U.name(classes[b])), U.el("span", {}, "for ", U.name(classes[a]), " \u2192")] : null),
      U.el("span", { class: "ticks" }, [0, ...ticks].map((x) => U.el("span", { style: { left: `${100 * left(x)}%` } }, x ? `${x > 0 ? "+" : "\u2212"}${Math.abs(x)}` : "0"))));
  };

  const side = (x) => `${100 * x}%`;
  const paint = (line, evidence, at, left, key) => {
    if (!key || line.drawn !== key) {
      const ends = at.map((pair) => left(pair[1]));
      const low = Math.min(...ends, 0.5), high = Math.max(...ends, 0.5);
      line.places = at.map((pair, k) => [pair[0], ends[k]]);
      line.fill = U.el("span", {});
      line.dot = U.el("span", {});
      line.lane.replaceChildren(
        U.el("span", { class: "zero" }),
        U.el("span", { class: "span", style: { left: side(low), width: side(high - low) } }),
        ...ends.map((end) => U.el("span", { class: "mark", style: { left: side(end) } })),
        line.fill, line.dot);
      line.drawn = key;
    }
    const here = left(evidence), sign = evidence >= 0 ? "positive" : "negative";
    line.fill.className = `fill ${sign}`;
    line.fill.style.left = side(Math.min(here, 0.5));
    line.fill.style.width = side(Math.abs(here - 0.5));
    line.dot.className = `at ${sign}`;
    line.dot.style.left = side(here);
    line.effect.textContent = U.signed(evidence);
  };

  const paintAnswer = ({ p, a, b, parts }) => {
    const order = Array.from(p, (_, c) => c);
    if (n > 3) order.sort((i, j) => p[j] - p[i] || i - j);
    const top = order.slice(0, 8);
    for (const c of [a, b]) if (!top.includes(c)) top.push(c);
    const rows = top.flatMap((c) => [
      U.el("span", { class: "name" }, U.short(classes[c])),
      U.el("span", { class: "track" }, U.el("i", { style: { width: `${100 * p[c]}%`, background: n <= 8 ? U.color(c, n) : c === a ? "var(--for)" : c === b ? "var(--against)" : "var(--other)" } })),
      U.el("span", { class: "value", "data-class": c, "data-p": p[c] }, U.percent(p[c])),
    ]);
    const best = U.best(p);
    U.refill(answer,
      U.el("p", { class: "verdict" }, U.name(classes[best]), `: ${U.percent(p[best])}`),
      data.rule ? U.el("p", { class: "decided" }, "Decision: ", U.name(classes[U.decided(data.rule, p)])) : null,
      U.el("div", { class: "chances", role: "img", "aria-label": order.slice(0, 8).map((c) => `${classes[c]} ${U.percent(p[c])}`).join(", ") }, rows),
      top.length < n ? U.el("p", { class: "small" }, `and ${n - top.length} less probable ${n - top.length === 1 ? "class" : "classes"}`) : null);
    U.refill(reasons,
      model.routing && data.tree ? pathOf() : null,
      n > 1 ? scale(p, a, b, parts) : null,
      model.members ? membersOf() : null);
  };

  // Where the row goes in a tree.
  const pathOf = () => {
    const node = model.arrive(state.row), path = model.routing.path(node).slice(1);
    const stays = model.routing.attribute[node] >= 0;
    const ends = model.ends ? model.ends(state.row).length : 1;
    const items = path.map((step) => U.el("li", {}, U.name(data.tree.condition[step])));
    if (stays) {
      const tested = columns[model.routing.attribute[node]].name;
      items.push(U.el("li", {}, ends > 1 ? `divided among ${ends} leaves: no branch for the value of ` : "stays at this node: no branch for the value of ", U.name(tested)));
    }
    return U.el("ol", { class: "path", "aria-label": "path in the tree" },
      items.length ? items : U.el("li", {}, "the root"));
  };

  // The bottom line of a nomogram: log odds and the probability they stand for.
  const scale = (p, a, b, parts) => {
    const sum = logOdds(p, a, b), far = 6, width = 280;
    const x = (v) => width / 2 + (Math.min(Math.max(v, -far), far) / far) * (width / 2 - 14);
    const picture = U.svg("svg", { viewBox: `0 0 ${width} 54`, width: "100%", role: "img", "aria-label": `log odds ${U.signed(sum)}` });
    picture.append(U.svg("line", { class: "axis", x1: x(-far), x2: x(far), y1: 22, y2: 22 }));
    for (const share of [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]) {
      const at = x(Math.log(share / (1 - share)));
      picture.append(
        U.svg("line", { class: "axis", x1: at, x2: at, y1: 22, y2: 27 }),
        U.svg("text", { class: "tick", x: at, y: 40, "text-anchor": "middle" }, String(Math.round(100 * share))));
    }
    const fill = sum >= 0 ? "var(--for)" : "var(--against)";
    picture.append(
      U.svg("rect", { x: Math.min(x(0), x(sum)), y: 18, width: Math.abs(x(sum) - x(0)), height: 8, style: { fill } }),
      U.svg("circle", { cx: x(sum), cy: 22, r: 6, style: { fill, stroke: "var(--paper)", "stroke-width": 2 } }));
    const lines = parts ? [["before any evidence", parts.base[a] - parts.base[b]], ["evidence of all values", sum - parts.base[a] + parts.base[b]]] : [];
    return U.el("div", {},
      U.el("p", { class: "small" }, "Probability of ", U.name(classes[a]), n > 2 ? [" rather than ", U.name(classes[b])] : "", ", %"),
      picture,
      U.el("table", { class: "sum" }, [...lines, ["log odds", sum]].map(([text, x]) => U.el("tr", {}, U.el("td", {}, text), U.el("td", {}, U.signed(x))))));
  };

  const membersOf = () => {
    const members = model.members(state.row), names = data.members;
    const most = Math.max(...members.map(U.sum), 1e-300);
    const list = members.slice(0, 40).flatMap((votes, k) => [
      U.el("span", { class: "name" }, U.short(names[k])),
      U.el("span", { class: "stack" }, Array.from(votes, (x, c) => U.el("i", {
        title: `${classes[c]}: ${U.number(x, 3)}`,
        style: { width: `${(100 * x) / most}%`, background: U.color(c, n) },
      }))),
    ]);
    return U.el("div", {}, U.el("p", { class: "small" }, data.membersTitle), U.el("div", { class: "members" }, list));
  };

  // Frame --------------------------------------------------------------------------------------
  const search = U.el("input", { type: "search", placeholder: "name", oninput: () => { state.search = search.value.toLowerCase(); arrange(); update(); } });
  const bar = U.el("div", { class: "bar" },
    U.field("Start from", U.el("span", { class: "row-field" },
      rowBox,
      U.el("button", { type: "button", "aria-label": "previous row", onclick: () => step(-1) }, "\u2039"),
      U.el("button", { type: "button", "aria-label": "next row", onclick: () => step(1) }, "\u203a"))),
    n > 1 ? U.field("Explain", U.select(["the most probable class", ...classes], state.of + 1, (k) => { state.of = k - 1; update(); }, { id: "try-of" })) : null,
    n > 2 ? U.field("against", U.select(["the next most probable", ...classes], 0, (k) => { state.against = k - 1; update(); }, { id: "try-against" })) : null,
    U.field("Order", U.select(["by importance", "by evidence", "as in the table", "by name"], 0, (k) => { state.order = k; arrange(); update(); })),
    columns.length > 12 ? U.field("Search", search) : null);
  U.fill(place, {}, [bar, U.el("div", { class: "try" }, U.el("div", {},
    U.el("div", { class: "input heads", "aria-hidden": "true" }, U.el("span", {}), U.el("span", {}), heads, U.el("span", { class: "effect" }, "log odds")),
    inputs, more), U.el("div", { class: "answers" }, answer, reasons))]);
  arrange();
  start(data.rows.at.length ? 0 : -1);
  return { set, start, state, proba: () => model.proba(state.row), row: () => state.row };
};
