// The class that the model's rule chooses by the probabilities of a row, as `Decision.choose` does.
U.decided = (rule, p) => {
  if (rule.threshold !== null) return p[rule.positive] >= rule.threshold ? rule.positive : 1 - rule.positive;
  const expected = rule.costs.map((_, decided) => rule.costs.reduce((sum, row, c) => sum + p[c] * row[decided], 0));
  return expected.indexOf(Math.min(...expected));
};

// The threshold of a class against the other, or all others: what is decided, what that costs, and how both change as it moves.
U.decide = (place, data, classes) => {
  const state = { positive: data.positive, step: data.sides[data.positive].start };
  const two = classes.length === 2;
  const names = () => [two ? classes[1 - state.positive] : "all others", classes[state.positive]];
  const costs = two ? [data.costs[1 - data.positive][data.positive], data.costs[data.positive][1 - data.positive]] : [1, 1];

  // Figures at a step: from the weight of the rows with at least that probability.
  const figures = (step) => {
    const side = data.sides[state.positive];
    const [hit, wrong] = [side.true[step], side.false[step]];
    const missed = side.positives - hit, left = side.negatives - wrong, rows = side.positives + side.negatives;
    const precision = hit / (hit + wrong), recall = hit / side.positives, selected = (hit + wrong) / rows;
    return {
      threshold: side.thresholds[step], hit, wrong, missed, left, precision, recall, selected,
      f1: (2 * hit) / (2 * hit + wrong + missed), accuracy: (hit + left) / rows,
      lift: precision / (side.positives / rows), cost: costs[0] * wrong + costs[1] * missed, rows,
    };
  };

  const slider = U.el("input", { type: "range", id: "threshold", min: 0, step: 1, oninput: () => { state.step = Number(slider.value); show(); } });
  const choice = U.select(classes, state.positive, (k) => {
    const threshold = two ? 1 - figures(state.step).threshold : figures(state.step).threshold;
    state.positive = k;
    if (two) costs.reverse();
    inputs.forEach((input, i) => { input.value = costs[i]; });
    state.step = nearest(threshold);
    show();
  }, { id: "decide-class" });
  const nearest = (threshold) => {
    const gaps = data.sides[state.positive].thresholds.map((t) => Math.abs(t - threshold));
    return gaps.indexOf(Math.min(...gaps));
  };
  const inputs = costs.map((cost, i) => U.el("input", {
    type: "number", id: i ? "cost-missed" : "cost-wrong", min: 0, step: "any", value: cost,
    oninput: () => { const given = Number(inputs[i].value); if (given >= 0 && Number.isFinite(given)) { costs[i] = given; show(); } },
  }));
  const labels = inputs.map(() => U.el("span"));
  const cheapest = U.el("button", { type: "button", id: "cheapest", onclick: () => {
    const all = data.sides[state.positive].thresholds.map((_, step) => figures(step).cost);
    state.step = all.indexOf(Math.min(...all));
    show();
  } }, "Least cost on these rows");
  const said = U.el("p", { class: "small", id: "decide-rule", "aria-live": "polite" });
  const table = U.el("table", { class: "matrix", id: "decide-confusion" });
  const list = U.el("div", { class: "figures", id: "decide-figures" });

  const cell = (weight, right, total) => U.el("td", { class: `${right ? "right" : "wrong"} t${Math.ceil((9 * weight) / (total || 1))}` }, U.count(weight));
  const share = (value) => (Number.isFinite(value) ? U.percent(value) : "\u2013");
  const show = () => {
    const side = data.sides[state.positive], f = figures(state.step), [other, positive] = names();
    slider.max = side.thresholds.length - 1;
    slider.value = state.step;
    slider.setAttribute("aria-valuetext", U.percent(f.threshold));
    U.refill(said, "Decide for ", U.name(positive), ` where its probability is at least ${U.percent(f.threshold)}: ${U.rows(f.hit + f.wrong)} of ${U.count(f.rows)}.`);
    U.refill(labels[0], "Cost of deciding ", U.name(positive), " wrongly");
    U.refill(labels[1], "Cost of missing ", U.name(positive));
    U.refill(table,
      U.el("thead", {}, U.el("tr", {}, U.el("th", {}, "true class"), U.el("th", { scope: "col" }, U.short(positive)), U.el("th", { scope: "col" }, U.short(other)))),
      U.el("tbody", {},
        U.el("tr", {}, U.el("th", { scope: "row" }, U.short(positive)), cell(f.hit, true, side.positives), cell(f.missed, false, side.positives)),
        U.el("tr", {}, U.el("th", { scope: "row" }, U.short(other)), cell(f.wrong, false, side.negatives), cell(f.left, true, side.negatives))));
    const shown = [
      ["precision", share(f.precision), "of those decided for, right"],
      ["recall (gain)", share(f.recall), `of the class, in ${share(f.selected)} of the rows`],
      ["F1", f.f1.toFixed(3), "mean of precision and recall"],
      ["lift", Number.isFinite(f.lift) ? f.lift.toFixed(2) : "\u2013", "times as frequent as in all rows"],
      ["accuracy", share(f.accuracy), "of all rows"],
      ["cost", U.number(f.cost), `${U.number(f.cost / f.rows)} a row`],
    ];
    U.refill(list, shown.map(([name, value, beside]) => U.el("div", { class: "figure", "data-figure": name }, U.el("b", {}, value), U.el("span", {}, name), U.el("span", {}, beside))));
  };

  place.append(
    U.el("div", { class: "decide-controls" },
      U.field("Decide for", choice),
      U.el("label", { class: "field wide" }, U.el("span", {}, "Threshold"), slider),
      ...inputs.map((input, i) => U.el("label", { class: "field" }, labels[i], input)),
      cheapest),
    said, U.el("div", { class: "decide-results" }, U.el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "confusion matrix at the threshold" }, table), list));
  show();
  return { figures: () => figures(state.step), set: (threshold) => { state.step = nearest(threshold); show(); } };
};
