// What each value of each attribute says: any part of the model, sorted, searched, by class.
U.evidence = (place, data) => {
  const parts = data.parts, MOST = 24, VALUES = 10;
  const LONGEST = 6; // longer bars end here: a factor of 400 in the odds
  const state = { part: 0, order: 0, search: "", counts: true, missing: true, all: false, labels: null, opened: new Set() };

  const part = () => parts[state.part];
  const labelsOf = (own) => own.labels || data.labels;
  // At first: for two classes the second, whose evidence is the other's with the sign turned; for
  // more, the four with most rows.
  const firstLabels = (own) => {
    const n = labelsOf(own).length;
    if (n <= 2) return new Set([n - 1]);
    const order = Array.from({ length: n }, (_, c) => c);
    if (own.label_weight) order.sort((i, j) => own.label_weight[j] - own.label_weight[i]);
    return new Set(order.slice(0, 4));
  };

  const grid = U.el("div", { class: "attributes" });
  const more = U.el("p", {}), about = U.el("p", { class: "small" }), chips = U.el("div", { class: "chips", role: "group", "aria-label": "classes" });

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

  // Numbers of one attribute, unpacked when first looked at.
  const numbers = (own) => {
    if (!own.cells) {
      own.cells = U.lazy(() => ({
        weights: U.array(own.weights), low: U.array(own.low), high: U.array(own.high), counts: U.array(own.counts),
      }));
    }
    return own.cells();
  };

  // Rows to show: missing and unseen only if asked for, and only what has rows or evidence.
  const rowsOf = (own, n) => own.values.map((_, v) => v).filter((v) => own.states[v] === "v" || (state.missing && (own.states[v] === "m" || own.form === "values")));

  const reachOf = (list, n) => {
    let reach = 0.5;
    for (const own of list) {
      const { weights } = numbers(own);
      for (let k = 0; k < weights.length; k++) {
        const size = Math.abs(weights[k]) / 1000;
        if (state.labels.has(k % n)) reach = Math.max(reach, size);
      }
    }
    return Math.min(reach, LONGEST);
  };

  const lanesOf = (own, v, n, reach) => {
    const { weights, low, high } = numbers(own);
    const side = (x) => 50 + 48 * Math.min(Math.max(x / reach, -1), 1);
    return Array.from(state.labels).sort((i, j) => i - j).map((c) => {
      const k = v * n + c, w = weights[k] / 1000, from = low[k] / 1000, to = high[k] / 1000;
      const start = Math.min(side(w), 50), end = Math.max(side(w), 50);
      const lane = U.el("div", { class: "lane", title: `${labelsOf(part())[c]}: ${U.signed(w)}${to > from ? `, from ${U.signed(from)} to ${U.signed(to)}` : ""}` },
        U.el("i", { style: { left: `${start}%`, width: `${end - start}%`, background: color(c, n), opacity: to - from > 2 * Math.abs(w) ? 0.45 : 0.9 } }));
      if (to > from) lane.append(U.el("u", { style: { left: `${side(from)}%`, width: `${side(to) - side(from)}%` } }));
      return lane;
    });
  };

  const countOf = (own, v, n) => {
    const { counts } = numbers(own);
    let sum = 0;
    for (let c = 0; c < n; c++) sum += counts[v * n + c];
    return sum;
  };

  const card = (own, j, n, reach) => {
    const body = own.form === "nothing" ? U.el("p", { class: "small" }, own.why || "It says nothing: all its values are alike to the model.")
      : own.form === "density" ? curve(own, n, reach) : listing(own, j, n, reach);
    return U.el("div", { class: "attribute", "data-attribute": j },
      U.el("h3", {}, U.name(own.name), U.el("small", { title: "mean absolute evidence of its values" }, U.number(own.importance, 2))), body);
  };

  const listing = (own, j, n, reach) => {
    const rows = rowsOf(own, n), values = rows.filter((v) => own.states[v] === "v");
    let kept = rows;
    if (values.length > VALUES && !state.opened.has(j)) {
      const often = values.slice();
      if (own.form === "values") often.sort((a, b) => countOf(own, b, n) - countOf(own, a, n) || a - b);
      const first = new Set(often.slice(0, VALUES));
      kept = rows.filter((v) => own.states[v] !== "v" || first.has(v));
    }
    const lines = kept.flatMap((v) => {
      const quiet = own.states[v] !== "v", count = countOf(own, v, n);
      return [
        U.el("span", { class: `name${quiet ? " quiet" : ""}` }, U.short(own.values[v])),
        U.el("div", { class: "lanes" }, lanesOf(own, v, n, reach)),
        state.counts ? U.el("span", { class: "count" }, Number.isNaN(count) ? "" : U.number(count, 4)) : U.el("span", {}),
      ];
    });
    const list = U.el("div", { class: "values" }, lines);
    if (kept.length < rows.length) {
      list.append(U.el("span", {}), U.el("button", { type: "button", class: "plain", onclick: () => { state.opened.add(j); render(); } }, `${rows.length - kept.length} more ${rows.length - kept.length === 1 ? "value" : "values"}`));
    }
    return list;
  };

  // Evidence of a number by densities: a line for each class, with its interval.
  const curve = (own, n, reach) => {
    const { weights, low, high } = numbers(own), width = 380, height = 120, points = own.values.length - 1;
    const x = (k) => 8 + (k / Math.max(points - 1, 1)) * (width - 16), y = (w) => 56 - 50 * Math.min(Math.max(w / 1000 / reach, -1), 1);
    const picture = U.svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `evidence of ${own.name}` });
    picture.append(U.svg("line", { class: "axis", x1: 8, x2: width - 8, y1: y(0), y2: y(0) }));
    for (const k of [0, Math.floor((points - 1) / 2), points - 1]) {
      picture.append(U.svg("text", { class: "tick", x: x(k), y: height - 2, "text-anchor": k === 0 ? "start" : k === points - 1 ? "end" : "middle" }, own.values[k + 1]));
    }
    for (const c of state.labels) {
      const at = (list, k) => list[(k + 1) * n + c], all = Array.from({ length: points }, (_, k) => k);
      const band = [...all.map((k) => `${x(k)},${y(at(high, k))}`), ...all.reverse().map((k) => `${x(k)},${y(at(low, k))}`)];
      picture.append(
        U.svg("polygon", { points: band.join(" "), style: { fill: color(c, n), opacity: 0.16 } }),
        U.svg("polyline", { points: all.reverse().map((k) => `${x(k)},${y(at(weights, k))}`).join(" "), style: { fill: "none", stroke: color(c, n), "stroke-width": 1.75 } }));
    }
    const parts = [picture];
    if (state.missing) {
      parts.push(U.el("div", { class: "values" },
        U.el("span", { class: "name quiet" }, "missing"), U.el("div", { class: "lanes" }, lanesOf(own, 0, n, reach)),
        state.counts ? U.el("span", { class: "count" }, Number.isNaN(countOf(own, 0, n)) ? "" : U.number(countOf(own, 0, n), 4)) : U.el("span", {})));
    }
    return U.el("div", {}, parts);
  };

  const render = () => {
    const now = part(), n = labelsOf(now).length;
    const order = now.attributes.map((_, j) => j);
    if (state.order === 0) order.sort((i, j) => now.attributes[j].importance - now.attributes[i].importance || i - j);
    if (state.order === 2) order.sort((i, j) => now.attributes[i].name.localeCompare(now.attributes[j].name));
    const found = order.filter((j) => now.attributes[j].name.toLowerCase().includes(state.search)
      || (state.search && now.attributes[j].values.some((value) => value.toLowerCase().includes(state.search))));
    const shown = state.all ? found : found.slice(0, MOST);
    const reach = reachOf(shown.map((j) => now.attributes[j]), n);
    grid.replaceChildren(...shown.map((j) => card(now.attributes[j], j, n, reach)));
    more.replaceChildren();
    if (shown.length < found.length) {
      more.append(U.el("button", { type: "button", onclick: () => { state.all = true; render(); } }, `Show all ${found.length} attributes`));
    }
    if (!found.length) more.append("No attribute or value has this in its name.");
    about.replaceChildren(`Bars reach ${U.number(reach, 2)} to either side, a factor of ${U.number(Math.exp(reach), 2)} in the odds. `,
      Number.isFinite(now.weight) ? `Behind this part: ${U.rows(now.weight)} of training.` : "");
  };

  // Missing and unseen are worth lines where there are such rows, or where they say something.
  const gaps = (own) => own.attributes.some((each) => {
    const { weights, counts } = numbers(each), n = labelsOf(own).length;
    return each.states[0] === "m" && Array.from({ length: n }, (_, c) => c).some((c) => weights[c] || counts[c] > 0);
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
  const partBox = parts.length > 1 ? U.select(parts.map((own) => own.title), 0, show, { id: "evidence-part" }) : null;
  const search = U.el("input", { type: "search", id: "evidence-search", placeholder: "attribute or value", oninput: () => { state.search = search.value.toLowerCase(); render(); } });
  place.append(
    U.el("div", { class: "bar" },
      partBox ? U.field("Part of the model", partBox) : null,
      U.field("Search", search),
      U.field("Order", U.select(["by importance", "as in the table", "by name"], 0, (k) => { state.order = k; render(); }, { id: "evidence-order" })),
      U.check("counts", true, (on) => { state.counts = on; render(); }),
      U.check("missing and unseen", state.missing, (on) => { state.missing = on; render(); })),
    chips, about, grid, more);
  show(0);
  return { show, state };
};
