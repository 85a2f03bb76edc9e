// How classes differ: one class against another, and the distribution of an attribute in each.
U.compare = (place, data) => {
  const part = data.parts[0], labels = part.labels || data.labels, n = labels.length, MOST = 20;
  if (n < 2) return null;
  const owner = data.owner || labels.map((_, c) => c);
  const state = { a: n - 1, b: 0, attribute: 0, all: false };
  if (part.label_weight && n > 2) {
    // The largest label, and the largest of another class: labels may be clusters.
    const order = labels.map((_, c) => c).sort((i, j) => part.label_weight[j] - part.label_weight[i]);
    state.a = order[0];
    state.b = order.find((c) => owner[c] !== owner[state.a]) ?? order[1];
  }
  const list = U.el("div", { class: "versus" }), more = U.el("p", {}), profile = U.el("div", {});

  // Values with evidence for one class against the other, ranked by evidence times frequency.
  const strongest = () => {
    const values = [];
    part.attributes.forEach((attribute) => {
      if (attribute.form === "nothing") return;
      const logs = attribute.logs(), shares = (attribute.spread || attribute.shares)();
      attribute.values.forEach((value, v) => {
        const weight = logs[v * n + state.a] - logs[v * n + state.b];
        const frequency = 0.5 * (shares[v * n + state.a] + shares[v * n + state.b]);
        if (weight) values.push({ text: `${attribute.name}: ${value}`, weight, order: Math.abs(weight) * frequency });
      });
    });
    // How often two values come together is not known: as if attributes were independent in each class.
    for (const pair of part.pairs || []) {
      const logs = pair.logs(), [first, second] = pair.margins.map((margin) => margin());
      pair.values[0].forEach((one, u) => pair.values[1].forEach((two, v) => {
        const cell = (u * pair.values[1].length + v) * n, weight = logs[cell + state.a] - logs[cell + state.b];
        const share = (c) => first[u * n + c] * second[v * n + c];
        if (weight && labels.some((_, c) => share(c) !== 0)) values.push({ text: `${pair.names[0]} x ${pair.names[1]}: ${one}, ${two}`, weight, order: 0.5 * Math.abs(weight) * (share(state.a) + share(state.b)) || 0 });
      }));
    }
    return values.sort((one, two) => two.order - one.order);
  };

  // Clusters have the colour of their class, unless both are of the same one.
  const color = (first) => (data.classes.length > 8 || owner[state.a] === owner[state.b]
    ? (first ? "var(--for)" : "var(--against)") : U.color(owner[first ? state.a : state.b], data.classes.length));

  const render = () => {
    const values = strongest();
    const shown = values.slice(0, state.all ? 200 : MOST);
    const reach = Math.max(0.5, ...shown.map((each) => Math.abs(each.weight)).filter((size) => size < U.FAR));
    const lines = shown.flatMap(({ text, weight }) => {
      const size = 48 * Math.min(Math.abs(weight) / reach, 1), first = weight > 0;
      return [
        U.el("span", { class: "name" }, U.short(text)),
        U.el("div", { class: "lanes", title: U.signed(weight) }, U.el("div", { class: "lane" }, U.el("i", {
          style: { left: `${first ? 50 - size : 50}%`, width: `${size}%`, background: color(first) },
        }))),
      ];
    });
    list.replaceChildren(
      U.el("span", {}), U.el("div", { class: "heads" }, U.el("span", {}, "\u2190 evidence for ", U.name(labels[state.a])), U.el("span", {}, "evidence for ", U.name(labels[state.b]), " \u2192")),
      ...lines);
    U.more(more, shown, state.all ? shown : values, `Show more of ${values.length} values`, () => { state.all = true; render(); });
  };

  // Distribution of one attribute in every class.
  const renderProfile = () => {
    const attribute = part.attributes[state.attribute], shares = attribute.shares();
    const rows = attribute.values.map((_, v) => v);
    if (attribute.form === "density") { profile.replaceChildren(densities(attribute, shares)); return; }
    const most = rows.slice().sort((u, v) => sum(shares, v) - sum(shares, u)).slice(0, 8);
    const shown = new Set(most), kept = rows.filter((v) => shown.has(v) && sum(shares, v) > 0);
    const tint = (k) => `color-mix(in oklab, var(--accent) ${Math.round(100 - (82 * k) / Math.max(kept.length - 1, 1))}%, var(--raised))`;
    const lines = labels.flatMap((label, c) => [
      U.el("span", { class: "name" }, U.name(label)),
      U.el("div", { class: "stack" }, kept.map((v, k) => U.el("i", {
        title: `${attribute.values[v]}: ${U.percent(shares[v * n + c])}`, style: { width: `${100 * shares[v * n + c]}%`, background: tint(k) },
      }))),
    ]);
    profile.replaceChildren(
      U.el("div", { class: "profile" }, lines),
      U.el("p", { class: "small", style: { "margin-top": "0.5rem" } }, kept.flatMap((v, k) => [
        U.el("span", { class: "dot", style: { background: tint(k), "border-radius": "2px" } }), " ", U.name(attribute.values[v]), k < kept.length - 1 ? "\u2003" : ""]),
        kept.length < rows.filter((v) => sum(shares, v) > 0).length ? "\u2003(the most frequent values)" : ""));
  };
  const sum = (shares, v) => U.sum(shares.subarray(v * n, (v + 1) * n));

  const densities = (attribute, shares) => {
    const width = 640, height = 180, points = attribute.values.length - 1;
    let top = 0;
    for (let k = n; k < shares.length; k++) if (Number.isFinite(shares[k])) top = Math.max(top, shares[k]);
    const x = (k) => 8 + (k / Math.max(points - 1, 1)) * (width - 16), y = (d) => height - 26 - (d / (top || 1)) * (height - 40);
    const picture = U.svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", style: { "max-width": "48rem" }, role: "img", "aria-label": `densities of ${attribute.name}` },
      U.svg("line", { class: "axis", x1: 8, x2: width - 8, y1: y(0), y2: y(0) }));
    U.pointNames(picture, attribute.values, x, height - 8);
    labels.forEach((label, c) => {
      const line = Array.from({ length: points }, (_, k) => `${x(k)},${y(shares[(k + 1) * n + c])}`);
      picture.append(U.svg("polyline", { points: line.join(" "), style: { fill: "none", stroke: U.color(c, n), "stroke-width": 1.75 } }, U.svg("title", {}, label)));
    });
    const legend = n <= 8 ? U.el("p", { class: "small" }, labels.flatMap((label, c) => [U.dot(c, n), " ", U.name(label), "\u2003"])) : null;
    return U.el("div", {}, picture, legend);
  };

  const pick = (which) => (k) => { state[which] = k; state.all = false; render(); };
  const order = part.attributes.map((_, j) => j).sort((i, j) => part.attributes[j].importance - part.attributes[i].importance || i - j);
  state.attribute = order[0];
  place.append(
    U.el("div", { class: "bar" },
      U.field(data.owner ? "Cluster" : "Class", U.select(labels, state.a, pick("a"), { id: "versus-a" })),
      U.field("against", U.select(labels, state.b, pick("b"), { id: "versus-b" }))),
    list, more,
    U.el("h3", { style: { "margin-top": "2.5rem" } }, data.owner ? "Distribution of one attribute in each cluster" : "Distribution of one attribute in each class"),
    U.el("div", { class: "bar" }, U.field("Attribute", U.select(order.map((j) => part.attributes[j].name), 0, (k) => { state.attribute = order[k]; renderProfile(); }, { id: "profile-attribute" }))),
    profile);
  render();
  renderProfile();
  return { strongest };
};
