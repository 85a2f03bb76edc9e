// Calibration: predicted probability against observed frequency.
U.calibration = (place, curves, classes) => {
  const size = 320, pad = 34, n = classes.length;
  const at = (p) => pad + p * (size - pad - 10), up = (p) => size - pad - p * (size - pad - 10);
  const legend = U.el("p", { class: "small" });
  const picture = U.svg("svg", { viewBox: `0 0 ${size} ${size}`, width: size, role: "img", "aria-label": "calibration curve" });
  const draw = (k) => {
    const { name, number, predicted, observed, low, high, rows } = curves[k];
    const color = n <= 8 ? U.color(number, n) : "var(--accent)";
    const total = U.sum(rows);
    picture.replaceChildren();
    for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
      picture.append(
        U.svg("line", { class: "grid", x1: at(tick), x2: at(tick), y1: up(0), y2: up(1) }),
        U.svg("line", { class: "grid", x1: at(0), x2: at(1), y1: up(tick), y2: up(tick) }),
        U.svg("text", { class: "tick", x: at(tick), y: size - pad + 15, "text-anchor": "middle" }, String(100 * tick)),
        U.svg("text", { class: "tick", x: pad - 6, y: up(tick) + 4, "text-anchor": "end" }, String(100 * tick)));
    }
    picture.append(
      U.svg("line", { class: "axis", x1: at(0), y1: up(0), x2: at(1), y2: up(1), "stroke-dasharray": "3 3" }),
      U.svg("text", { class: "tick", x: (at(0) + at(1)) / 2, y: size - 3, "text-anchor": "middle" }, "predicted probability, %"),
      U.svg("text", { class: "tick", x: -(up(0) + up(1)) / 2, y: 10, transform: "rotate(-90)", "text-anchor": "middle" }, "observed frequency, %"),
      U.svg("polyline", { points: predicted.map((p, i) => `${at(p)},${up(observed[i])}`).join(" "), style: { fill: "none", stroke: color, "stroke-width": 1.5, opacity: 0.7 } }));
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
