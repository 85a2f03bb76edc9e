// Evidence of each value of each attribute: any part of the model, sorted, searched, by class.
U.evidence = (place, data) => {
  const parts = data.parts, MOST = 24, VALUES = 10;
  const LONGEST = 6; // longer bars end here: a factor of 400 in the odds
  const state = { part: 0, order: 0, search: "", counts: true, missing: true, all: false, labels: null, opened: new Set() };

  const part = () => parts[state.part];
  const labelsOf = (part) => part.labels || data.labels;
  // At first: for two classes the second, whose evidence is the other's with the sign turned; for
  // more, the four with most rows.
  const firstLabels = (part) => {
    const n = labelsOf(part).length;
    if (n <= 2) return new Set([n - 1]);
    const order = Array.from({ length: n }, (_, c) => c);
    if (part.label_weight) order.sort((i, j) => part.label_weight[j] - part.label_weight[i]);
    return new Set(order.slice(0, 4));
  };

  const grid = U.el("div", { class: "attributes" });
  const more = U.el("p", {}), rest = U.el("div", { class: "small" }), about = U.el("p", { class: "small" }), chips = U.el("div", { class: "chips", role: "group", "aria-label": "classes" });

  const color = (c, n) => {
    if (n <= 8) return U.color(c, n);
    const place = Array.from(state.labels).indexOf(c);
    return `var(--c${place % 8})`;
  };

  const showChips = () => {
    const labels = labelsOf(part());
    chips.replaceChildren(...labels.map((label, c) => U.el("button", {
      type: "button", class: "chip", "aria-pressed": state.labels.has(c),
      onclick: () => {
        if (state.labels.has(c)) { if (state.labels.size > 1) state.labels.delete(c); } else state.labels.add(c);
        showChips();
        render();
      },
    }, U.el("span", { class: "dot", style: { background: state.labels.has(c) ? color(c, labels.length) : "transparent", border: "1px solid var(--faint)" } }), U.short(label))));
  };

  // Rows to show: missing and unseen only if asked for.
  const rowsOf = (attribute) => attribute.values.map((_, v) => v).filter((v) => attribute.states[v] === "v" || (state.missing && (attribute.states[v] === "m" || attribute.form === "values")));

  const reachOf = (list, n) => {
    let reach = 0.5;
    for (const attribute of list) {
      attribute.weights().forEach((weight, k) => {
        if (state.labels.has(k % n)) reach = Math.max(reach, Math.abs(weight) / 1000);
      });
    }
    return Math.min(reach, LONGEST);
  };

  const lanesOf = (attribute, v, n, reach) => {
    const [weights, low, high] = [attribute.weights(), attribute.low(), attribute.high()];
    const side = (x) => 50 + 48 * Math.min(Math.max(x / reach, -1), 1);
    return Array.from(state.labels).sort((i, j) => i - j).map((c) => {
      const k = v * n + c, w = weights[k] / 1000, from = low[k] / 1000, to = high[k] / 1000;
      const start = Math.min(side(w), 50), end = Math.max(side(w), 50);
      const lane = U.el("div", { class: "lane", title: `${labelsOf(part())[c]}: ${U.signed(w)}${to > from ? `, from ${U.signed(from)} to ${U.signed(to)}` : ""}` },
        U.el("i", { style: { left: `${start}%`, width: `${end - start}%`, background: color(c, n), opacity: to > from && from <= 0 && to >= 0 ? 0.45 : 0.9 } }));
      if (to > from) lane.append(U.el("u", { style: { left: `${side(from)}%`, width: `${side(to) - side(from)}%` } }));
      return lane;
    });
  };

  const countOf = (attribute, v, n) => U.sum(attribute.counts().subarray(v * n, (v + 1) * n));

  const card = (attribute, j, n, reach) => {
    const body = attribute.form === "density" ? curve(attribute, n, reach) : listing(attribute, j, n, reach);
    return U.el("div", { class: "attribute", "data-attribute": j },
      U.el("h3", {}, U.name(attribute.name), U.el("small", { title: "mean absolute evidence of its values" }, U.number(attribute.importance, 2))), body);
  };

  // Name, bars and count of one value.
  const line = (attribute, v, n, reach) => {
    const count = countOf(attribute, v, n);
    return [
      U.el("span", { class: `name${attribute.states[v] === "v" ? "" : " quiet"}` }, U.short(attribute.values[v])),
      U.el("div", { class: "lanes" }, lanesOf(attribute, v, n, reach)),
      state.counts ? U.el("span", { class: "count" }, Number.isNaN(count) ? "" : U.count(count)) : U.el("span", {}),
    ];
  };

  const listing = (attribute, j, n, reach) => {
    const rows = rowsOf(attribute), values = rows.filter((v) => attribute.states[v] === "v");
    let kept = rows;
    if (values.length > VALUES && !state.opened.has(j)) {
      const often = values.slice();
      if (attribute.form === "values") often.sort((a, b) => countOf(attribute, b, n) - countOf(attribute, a, n) || a - b);
      const first = new Set(often.slice(0, VALUES));
      kept = rows.filter((v) => attribute.states[v] !== "v" || first.has(v));
    }
    const list = U.el("div", { class: "values" }, kept.flatMap((v) => line(attribute, v, n, reach)));
    const hidden = rows.length - kept.length;
    if (hidden) {
      list.append(U.el("span", {}), U.el("button", { type: "button", class: "plain", onclick: () => { state.opened.add(j); render(); } }, `${hidden} more ${hidden === 1 ? "value" : "values"}`));
    }
    return list;
  };

  // Evidence of a number by densities: a line for each class.
  const curve = (attribute, n, reach) => {
    const weights = attribute.weights(), width = 380, height = 120, points = attribute.values.length - 1;
    const x = (k) => 8 + (k / Math.max(points - 1, 1)) * (width - 16), y = (w) => 56 - 50 * Math.min(Math.max(w / 1000 / reach, -1), 1);
    const picture = U.svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `evidence of ${attribute.name}` });
    picture.append(U.svg("line", { class: "axis", x1: 8, x2: width - 8, y1: y(0), y2: y(0) }));
    U.pointNames(picture, attribute.values, x, height - 2);
    for (const c of state.labels) {
      const line = Array.from({ length: points }, (_, k) => `${x(k)},${y(weights[(k + 1) * n + c])}`);
      picture.append(U.svg("polyline", { points: line.join(" "), style: { fill: "none", stroke: color(c, n), "stroke-width": 1.75 } }));
    }
    return U.el("div", {}, picture, state.missing ? U.el("div", { class: "values" }, line(attribute, 0, n, reach)) : null);
  };

  const render = () => {
    const now = part(), n = labelsOf(now).length;
    const order = now.attributes.map((_, j) => j);
    if (state.order === 0) order.sort((i, j) => now.attributes[j].importance - now.attributes[i].importance || i - j);
    if (state.order === 2) order.sort((i, j) => now.attributes[i].name.localeCompare(now.attributes[j].name));
    const matching = order.filter((j) => now.attributes[j].name.toLowerCase().includes(state.search)
      || (state.search && now.attributes[j].values.some((value) => value.toLowerCase().includes(state.search))));
    const informative = matching.filter((j) => now.attributes[j].form !== "nothing");
    const without = matching.filter((j) => now.attributes[j].form === "nothing");
    const shown = state.all ? informative : informative.slice(0, MOST);
    const reach = reachOf(shown.map((j) => now.attributes[j]), n);
    grid.replaceChildren(...shown.map((j) => card(now.attributes[j], j, n, reach)));
    U.more(more, shown, informative, `Show all ${informative.length} attributes`, () => { state.all = true; render(); });
    if (!matching.length) more.append("No attribute or value has this in its name.");
    const reasons = [...new Set(without.map((j) => now.attributes[j].reason))];
    U.refill(rest, reasons.length ? reasons.map((reason) => U.el("p", {}, "No evidence of ",
      without.filter((j) => now.attributes[j].reason === reason).flatMap((j, k) => [k ? ", " : "", U.name(now.attributes[j].name)]), `: ${reason}.`)) : null);
    const weighted = ["gate", "expert"].includes(now.role) ? ", weighted by responsibility in all sweeps" : "";
    about.replaceChildren(`Bars reach \u00b1${U.number(reach, 2)} log odds, a factor of ${U.number(Math.exp(reach), 2)} in the odds. `,
      Number.isFinite(now.weight) ? `Training rows of this part: ${U.count(now.weight)}${weighted}.` : "");
  };

  // Missing and unseen are shown where there are such rows, or where they have evidence.
  const gaps = (part) => part.attributes.some((attribute) => {
    const [weights, counts] = [attribute.weights(), attribute.counts()];
    return attribute.states[0] === "m" && labelsOf(part).some((_, c) => weights[c] || counts[c] > 0);
  });

  const show = (k) => {
    state.part = k;
    state.opened.clear();
    state.labels = firstLabels(part());
    showChips();
    render();
    if (partBox) partBox.value = k;
  };

  state.missing = parts.some(gaps);
  const partBox = parts.length > 1 ? U.select(parts.map((each) => each.title), 0, show, { id: "evidence-part" }) : null;
  const search = U.el("input", { type: "search", id: "evidence-search", placeholder: "attribute or value", oninput: () => { state.search = search.value.toLowerCase(); render(); } });
  place.append(
    U.el("div", { class: "bar" },
      partBox ? U.field("Part of the model", partBox) : null,
      U.field("Search", search),
      U.field("Order", U.select(["by importance", "as in the table", "by name"], 0, (k) => { state.order = k; render(); }, { id: "evidence-order" })),
      U.check("counts", true, (on) => { state.counts = on; render(); }),
      U.check("missing and unseen", state.missing, (on) => { state.missing = on; render(); })),
    chips, about, grid, more, rest);
  show(0);
  return { show, state };
};
