// Evidence of pairs of attributes: a small heat map for each pair, one class at a time.

// Weight of evidence of one class at every cell of a pair: against all others, by their base rates.
U.pairWeights = (pair, c, prior) => {
  const logs = pair.logs(), n = prior.length, out = new Float64Array(logs.length / n);
  const others = prior.map((_, k) => k).filter((k) => k !== c);
  const base = U.sum(others.map((k) => prior[k]));
  for (let cell = 0; cell < out.length; cell++) {
    let rest = 0;
    for (const k of others) rest += prior[k] * Math.exp(logs[cell * n + k]);
    out[cell] = others.length ? logs[cell * n + c] - Math.log(rest / base) : 0;
  }
  return out;
};

U.pairs = (place, data) => {
  const part = data.parts[0], labels = part.labels || data.labels, pairs = part.pairs, MOST = 6;
  const NAMES = 12; // values of an attribute that are named beside a heat map
  const state = { label: labels.length - 1, all: false, search: "" };
  if (labels.length > 2 && part.label_weight) state.label = part.label_weight.indexOf(Math.max(...part.label_weight));
  const grid = U.el("div", { class: "attributes" }), more = U.el("p", {}), about = U.el("p", { class: "small" });

  const tint = (weight, reach) => {
    const share = Math.round(100 * Math.min(Math.abs(weight) / reach, 1));
    return `color-mix(in oklab, var(--${weight > 0 ? "for" : "against"}) ${share}%, var(--raised))`;
  };

  const words = (pair, weights, cell) => {
    const width = pair.values[1].length, [a, b] = [Math.floor(cell / width), cell % width];
    return [U.name(pair.names[0]), " ", U.name(pair.values[0][a]), " and ", U.name(pair.names[1]), " ", U.name(pair.values[1][b]),
      ": ", U.el("b", {}, U.signed(weights[cell])), ` (${U.rows(pair.counts()[cell])})`];
  };

  // Cells that tell most about the rows of the table.
  const strongest = (pair, weights) => {
    const counts = pair.counts();
    return Array.from(weights.keys()).filter((cell) => counts[cell] && weights[cell])
      .sort((i, j) => counts[j] * Math.abs(weights[j]) - counts[i] * Math.abs(weights[i]) || i - j).slice(0, 3);
  };

  const heatMap = (pair, weights, reach, say) => {
    const [first, second] = pair.values, counts = pair.counts(), [height, width] = [first.length, second.length];
    const steps = [Math.ceil(height / NAMES), Math.ceil(width / NAMES)];
    const written = width <= 6 && height <= NAMES;
    const top = strongest(pair, weights)[0];
    const map = U.el("div", {
      class: `heat${height <= NAMES ? " roomy" : ""}`, role: "img",
      "aria-label": `Evidence of ${pair.names[0]} and ${pair.names[1]} for ${labels[state.label]}${top === undefined ? "" : `; strongest: ${first[Math.floor(top / width)]} and ${second[top % width]}, ${U.signed(weights[top])}`}`,
      style: { "grid-template-columns": `minmax(2.5rem, 7rem) repeat(${width}, minmax(0, 1fr))` },
    });
    for (let a = 0; a < height; a++) {
      if (a % steps[0] === 0) {
        map.append(U.el("span", { class: "side-name", style: { "grid-row": `${a + 1} / span ${Math.min(steps[0], height - a)}`, "grid-column": "1" } }, U.short(first[a])));
      }
      for (let b = 0; b < width; b++) {
        const cell = a * width + b;
        map.append(U.el("i", {
          "data-cell": cell, class: counts[cell] ? null : "empty",
          style: { "grid-row": `${a + 1}`, "grid-column": `${b + 2}`, background: tint(weights[cell], reach) },
        }, written && counts[cell] ? U.signed(weights[cell]) : ""));
      }
    }
    for (let b = 0; b < width; b += steps[1]) {
      map.append(U.el("span", { class: "foot-name", style: { "grid-row": `${height + 1}`, "grid-column": `${b + 2} / span ${Math.min(steps[1], width - b)}` } }, U.name(second[b])));
    }
    const point = (event) => { const cell = event.target.dataset?.cell; if (cell !== undefined) say(Number(cell)); };
    map.addEventListener("pointerover", point);
    map.addEventListener("click", point);
    return map;
  };

  const card = (pair, weights, reach) => {
    const said = U.el("p", { class: "small said", "aria-live": "polite" });
    const tell = (cell) => U.refill(said, words(pair, weights, cell));
    const top = strongest(pair, weights);
    said.append(top.length ? "Point at a cell to read it." : "None of the rows you passed has evidence here.");
    return U.el("div", { class: "attribute pair" },
      U.el("h3", {}, U.el("span", {}, U.name(pair.names[0]), " \u00d7 ", U.name(pair.names[1])), U.el("small", { title: "mean absolute evidence of its pairs of values" }, U.number(pair.importance, 2))),
      heatMap(pair, weights, reach, tell), said,
      U.el("ul", { class: "small strongest" }, top.map((cell) => U.el("li", {}, words(pair, weights, cell)))));
  };

  const render = () => {
    const matching = pairs.filter((pair) => pair.names.some((name) => name.toLowerCase().includes(state.search)));
    const shown = state.all ? matching : matching.slice(0, MOST);
    const weights = shown.map((pair) => U.pairWeights(pair, state.label, part.prior));
    let reach = 0.05;
    weights.forEach((list, k) => { const counts = shown[k].counts(); list.forEach((weight, cell) => { if (counts[cell] && Math.abs(weight) < U.FAR) reach = Math.max(reach, Math.abs(weight)); }); });
    grid.replaceChildren(...shown.map((pair, k) => card(pair, weights[k], reach)));
    U.more(more, shown, matching, `Show all ${matching.length} pairs`, () => { state.all = true; render(); });
    if (!matching.length) more.append("No pair has an attribute of this name.");
    about.replaceChildren(
      U.el("span", { class: "dot", style: { background: "var(--for)" } }), " for ", U.name(labels[state.label]), ", ",
      U.el("span", { class: "dot", style: { background: "var(--against)" } }), ` against it; the strongest colour is \u00b1${U.number(reach, 2)} log odds, a factor of ${U.number(Math.exp(reach), 2)} in the odds. Faded cells have none of the rows you passed.`);
  };

  const search = U.el("input", { type: "search", id: "pairs-search", placeholder: "attribute", oninput: () => { state.search = search.value.toLowerCase(); render(); } });
  place.append(
    U.el("div", { class: "bar" },
      labels.length > 2 ? U.field(data.owner ? "Cluster" : "Class", U.select(labels, state.label, (c) => { state.label = c; render(); }, { id: "pairs-label" })) : null,
      pairs.length > MOST ? U.field("Search", search) : null),
    about, grid, more);
  render();
};
