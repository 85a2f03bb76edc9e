// Quality: calibration, ROC, precision-recall and gain curves.

// A square of two shares: its axes in percent, and what is drawn inside.
U.square = (label, x, y) => {
  const size = 320, pad = 34;
  const at = (p) => pad + p * (size - pad - 10), up = (p) => size - pad - p * (size - pad - 10);
  const picture = U.svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, role: "img", "aria-label": label });
  const clear = (across = x, along = y) => {
    picture.replaceChildren();
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      picture.append(
        U.svg("line", { class: "grid", x1: at(tick), x2: at(tick), y1: up(0), y2: up(1) }),
        U.svg("line", { class: "grid", x1: at(0), x2: at(1), y1: up(tick), y2: up(tick) }),
        U.svg("text", { class: "tick", x: at(tick), y: size - pad + 15, "text-anchor": "middle" }, String(100 * tick)),
        U.svg("text", { class: "tick", x: pad - 6, y: up(tick) + 4, "text-anchor": "end" }, String(100 * tick)));
    }
    picture.append(
      U.svg("text", { class: "tick", x: (at(0) + at(1)) / 2, y: size - 3, "text-anchor": "middle" }, across),
      U.svg("text", { class: "tick", x: -(up(0) + up(1)) / 2, y: 10, transform: "rotate(-90)", "text-anchor": "middle" }, along));
  };
  const line = (xs, ys, color, given = {}) => picture.append(U.svg("polyline", {
    points: xs.map((value, i) => `${at(value)},${up(ys[i])}`).join(" "),
    style: { fill: "none", stroke: color, "stroke-width": 1.5, opacity: 0.7 }, ...given,
  }));
  const chance = (from, to) => picture.append(U.svg("line", { class: "axis", x1: at(0), y1: up(from), x2: at(1), y2: up(to), "stroke-dasharray": "3 3" }));
  return { picture, at, up, clear, line, chance };
};

// Calibration: predicted probability against observed frequency.
U.calibration = (place, curves, classes) => {
  const n = classes.length;
  const legend = U.el("p", { class: "small" });
  const { picture, at, up, clear, line, chance } = U.square("calibration curve", "predicted probability, %", "observed frequency, %");
  const draw = (k) => {
    const { name, number, predicted, observed, low, high, rows } = curves[k];
    const color = n <= 8 ? U.color(number, n) : "var(--accent)";
    const total = U.sum(rows);
    clear();
    chance(0, 1);
    line(predicted, observed, color);
    predicted.forEach((p, i) => {
      picture.append(U.svg("line", { x1: at(p), x2: at(p), y1: up(low[i]), y2: up(high[i]), style: { stroke: color, "stroke-width": 1.25, opacity: 0.7 } }));
      picture.append(U.svg("circle", { cx: at(p), cy: up(observed[i]), r: 2.5 + 5 * Math.sqrt(rows[i] / total), style: { fill: color, stroke: "var(--paper)" } },
        U.svg("title", {}, `predicted ${U.percent(p)}, observed ${U.percent(observed[i])} of ${U.rows(rows[i])}`)));
    });
    legend.replaceChildren("Probability of ", U.name(name), ": predicted and observed");
  };
  place.append(legend, picture);
  if (curves.length > 1) place.append(U.field("Class", U.select(curves.map((curve) => curve.name), 0, draw, { id: "calibration-class" })));
  draw(0);
};

// How well rows are ranked by the probability of a class.
U.KINDS = [
  { name: "ROC", x: "fpr", y: "tpr", across: "false positive rate, %", along: "true positive rate (recall), %", start: [0, 0] },
  { name: "precision-recall", x: "tpr", y: "precision", across: "recall, %", along: "precision, %", start: null },
  { name: "cumulative gain", x: "selected", y: "tpr", across: "rows, highest probability first, %", along: "share of the class (gain), %", start: [0, 0] },
];

U.curves = (place, curves, classes) => {
  const n = classes.length, state = { curve: curves.length === 2 ? 1 : 0, kind: 0 };
  const legend = U.el("p", { class: "small" });
  const { picture, clear, line, chance } = U.square("ranking curve", "", "");
  const draw = () => {
    const curve = curves[state.curve], kind = U.KINDS[state.kind];
    clear(kind.across, kind.along);
    if (kind.x === "tpr") chance(curve.prevalence, curve.prevalence); else chance(0, 1);
    const start = kind.start ?? [0, curve[kind.y][0]];
    line([start[0], ...curve[kind.x]], [start[1], ...curve[kind.y]], n <= 8 ? U.color(curve.number, n) : "var(--accent)", { "data-curve": kind.name });
    const figure = kind.x === "tpr" ? `average precision ${curve.averagePrecision.toFixed(3)}` : `ROC AUC ${curve.area.toFixed(3)}`;
    legend.replaceChildren(U.name(curve.name), ` against the rest: ${figure}`);
  };
  const choose = (key) => (k) => { state[key] = k; draw(); };
  const fields = [U.field("Curve", U.select(U.KINDS.map((kind) => kind.name), 0, choose("kind"), { id: "curve-kind" }))];
  if (curves.length > 1) fields.push(U.field("Class", U.select(curves.map((curve) => curve.name), state.curve, choose("curve"), { id: "curve-class" })));
  place.append(legend, picture, U.el("div", { class: "row-field" }, fields));
  draw();
};
