// The tree: nodes from left to right, opened and closed, one of them chosen.
U.tree = (place, data, routing, choose) => {
  const tree = data.tree, labels = data.labels, n = labels.length;
  // Clusters have the colour of their class.
  const color = (c) => (data.owner ? U.color(data.owner[c], data.classes.length) : U.color(c, n));
  const weights = U.array(tree.weight), nodes = routing.attribute.length;
  const WIDE = 262, HIGH = 42, BAR = 52, AT_FIRST = 30, LETTERS = 30;
  // A phone begins with the root and its children; no tree begins with smaller text than this.
  const NARROW = 560, READABLE = 0.6;
  const weightsAt = (node) => weights.subarray(node * n, (node + 1) * n);
  const weightOf = (node) => U.sum(weightsAt(node));
  const open = new Set();
  let chosen = 0, passed = new Set(), zoom = 1, spots = [], drawn = new Map();

  const openTo = (depth) => {
    open.clear();
    for (let node = 0; node < nodes; node++) {
      if (routing.attribute[node] >= 0 && routing.path(node).length <= depth) open.add(node);
    }
  };
  // The root, then those with most rows, as many as fit the view.
  const openSome = () => {
    openTo(1);
    const inner = (node) => routing.children(node).filter((child) => routing.attribute[child] >= 0);
    const closed = inner(0);
    let seen = 1 + routing.children(0).length;
    while (closed.length) {
      closed.sort((one, two) => weightOf(two) - weightOf(one));
      const node = closed.shift();
      seen += routing.children(node).length;
      if (seen > AT_FIRST) break;
      open.add(node);
      closed.push(...inner(node));
    }
  };

  // Places of the visible nodes, in the order of reading.
  const lay = () => {
    spots = [];
    let row = 0, deepest = 0;
    const visit = (node, depth) => {
      const spot = { node, depth, x: depth * WIDE + 14, y: 0 };
      spots.push(spot);
      deepest = Math.max(deepest, depth);
      if (!open.has(node)) { spot.y = row++ * HIGH + 30; return spot; }
      const children = routing.children(node).map((child) => visit(child, depth + 1));
      spot.y = (children[0].y + children[children.length - 1].y) / 2;
      return spot;
    };
    visit(0, 0);
    return [deepest * WIDE + WIDE, row * HIGH + 24];
  };

  const shorten = (text, letters) => {
    const each = Array.from(text);
    const tail = Math.floor((letters - 1) / 3); // names differ at their ends, and tests have their values there
    return each.length > letters ? `${each.slice(0, letters - 1 - tail).join("")}\u2026${each.slice(-tail).join("")}` : text;
  };

  const answerOf = (node) => {
    const best = U.best(weightsAt(node)), total = weightOf(node);
    return [best, total ? weightsAt(node)[best] / total : 0];
  };

  const shareBar = (node, x, y, width, height) => {
    const total = weightOf(node) || 1, out = [];
    let at = x;
    weightsAt(node).forEach((weight, c) => {
      const part = (width * weight) / total;
      if (part > 0.05) out.push(U.svg("rect", { x: at, y, width: part, height, style: { fill: color(c), "fill-opacity": n > 8 ? 0.25 + 0.75 * (part / width) : 1 } }));
      at += part;
    });
    return out;
  };

  const drawNode = (spot) => {
    const { node, x, y } = spot, inner = routing.attribute[node] >= 0;
    const [best, share] = answerOf(node), rows = U.rows(weightOf(node));
    const summary = inner && open.has(node)
      ? `${rows}; tests ${data.columns[routing.attribute[node]].name}`
      : `${labels[best]} ${U.percent(share)} of ${rows}`;
    const group = U.svg("g", {
      class: "tree-node", role: "treeitem", tabindex: node === chosen ? 0 : -1, "data-node": node,
      "aria-level": spot.depth + 1, "aria-selected": node === chosen,
      "aria-expanded": inner ? open.has(node) : undefined,
      "aria-label": `${tree.condition[node] || "root"}: ${summary}`,
    });
    group.classList.toggle("passed", passed.has(node));
    const text = inner && open.has(node) ? rows : `${shorten(labels[best], 14)} ${Math.round(100 * share)} %, ${rows}`;
    const below = inner && !open.has(node) ? ` +${count(node)}` : "";
    group.append(
      U.svg("title", {}, `${tree.condition[node] || "all rows"}\n${summary}`),
      U.svg("rect", { class: "hit", x: x - 6, y: y - 19, width: WIDE - 46, height: HIGH - 4, rx: 3 }),
      U.svg("rect", { class: "frame-line", x: x - 6, y: y - 19, width: WIDE - 46, height: HIGH - 4, rx: 3 }),
      U.svg("text", { class: "condition", x, y: y - 5 }, node ? shorten(tree.condition[node], LETTERS) : "all rows"),
      ...shareBar(node, x, y + 3, BAR, 10),
      U.svg("rect", { class: "joint", x, y: y + 3, width: BAR, height: 10, fill: "none" }),
      U.svg("text", { class: "answer", x: x + BAR + 7, y: y + 12, style: { "font-size": "11px" } }, text,
        below ? U.svg("tspan", { style: { fill: "var(--accent)", "font-weight": 600 } }, below) : ""));
    group.addEventListener("click", () => { if (inner) toggle(node); pick(node, true); });
    return group;
  };

  const count = (node) => routing.children(node).reduce((sum, child) => sum + 1 + count(child), 0);

  const draw = () => {
    const [width, height] = lay();
    const at = new Map(spots.map((spot) => [spot.node, spot]));
    const edges = spots.slice(1).map(({ node, x, y }) => {
      const from = at.get(routing.parent[node]), x1 = from.x + BAR + 12 + 6.1 * U.rows(weightOf(from.node)).length, y1 = from.y + 8;
      const path = U.svg("path", {
        class: "tree-edge", d: `M${x1} ${y1} C${x1 + 50} ${y1} ${x - 70} ${y + 8} ${x - 8} ${y + 8}`,
        style: { "stroke-width": Math.max(1, 7 * Math.sqrt(weightOf(node) / (weightOf(0) || 1))), opacity: 0.55 },
      });
      path.classList.toggle("passed", passed.has(node));
      return path;
    });
    drawn = new Map(spots.map((spot) => [spot.node, drawNode(spot)]));
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.setAttribute("width", width * zoom);
    picture.setAttribute("height", height * zoom);
    picture.replaceChildren(...edges, ...drawn.values());
  };

  const toggle = (node) => { if (open.has(node)) open.delete(node); else open.add(node); };

  const pick = (node, focus) => {
    chosen = node;
    for (let at = routing.parent[node]; at >= 0; at = routing.parent[at]) open.add(at);
    draw();
    describe();
    if (focus) {
      drawn.get(node).focus({ preventScroll: true });
      const box = drawn.get(node).getBoundingClientRect(), frame = view.getBoundingClientRect();
      if (box.left < frame.left || box.right > frame.right) view.scrollLeft += box.left - frame.left - 40;
      if (box.top < frame.top || box.bottom > frame.bottom) view.scrollTop += box.top - frame.top - frame.height / 2;
    }
  };

  const describe = () => {
    const total = weightOf(chosen) || 1, inner = routing.attribute[chosen] >= 0;
    const order = labels.map((_, c) => c).sort((i, j) => weights[chosen * n + j] - weights[chosen * n + i]);
    const path = routing.path(chosen).slice(1);
    U.refill(side,
      U.el("h3", {}, inner ? (chosen ? "An inner node" : "The root") : nodes > 1 ? "A leaf" : "The only node"),
      path.length ? U.el("ol", {}, path.map((node) => U.el("li", {}, U.name(tree.condition[node])))) : null,
      U.el("p", {}, `${U.rows(weightOf(chosen))} of training`,
        inner ? ["; tests ", U.name(data.columns[routing.attribute[chosen]].name)] : null,
        `; ${tree.utilityName} ${U.number(tree.utility[chosen], 3)}`, "."),
      U.el("div", { class: "bars" }, order.slice(0, 8).flatMap((c) => [
        U.el("span", { class: "name" }, U.short(labels[c])),
        U.el("span", { class: "track" }, U.el("i", { style: { width: `${(100 * weights[chosen * n + c]) / total}%`, background: color(c) } })),
        U.el("span", { class: "value" }, U.percent(weights[chosen * n + c] / total)),
      ])),
      data.parts.some((part) => part.node === chosen)
        ? U.el("p", {}, U.el("button", { type: "button", class: "plain no-print", onclick: () => choose(chosen) }, "Its evidence"))
        : null);
  };

  const keys = (event) => {
    const visible = spots.map((spot) => spot.node), at = visible.indexOf(chosen);
    const inner = routing.attribute[chosen] >= 0;
    const moves = {
      ArrowDown: () => visible[at + 1], ArrowUp: () => visible[at - 1],
      Home: () => 0, End: () => visible[visible.length - 1],
      ArrowRight: () => {
        if (inner && !open.has(chosen)) { open.add(chosen); return chosen; }
        return inner ? routing.children(chosen)[0] : undefined;
      },
      ArrowLeft: () => {
        if (open.has(chosen)) { open.delete(chosen); return chosen; }
        return routing.parent[chosen] >= 0 ? routing.parent[chosen] : undefined;
      },
      Enter: () => { if (inner) toggle(chosen); return chosen; },
      " ": () => { if (inner) toggle(chosen); return chosen; },
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    const next = moves[event.key]();
    if (next !== undefined) pick(next, true);
  };

  const zoomBy = (factor) => {
    const x = (view.scrollLeft + view.clientWidth / 2) / zoom, y = (view.scrollTop + view.clientHeight / 2) / zoom;
    zoom = Math.min(Math.max(zoom * factor, 0.2), 3);
    draw();
    view.scrollLeft = x * zoom - view.clientWidth / 2;
    view.scrollTop = y * zoom - view.clientHeight / 2;
  };
  const fit = () => {
    const [width, height] = lay();
    zoom = Math.max(0.35, Math.min(1, (view.clientWidth - 4) / width, (view.clientHeight - 4) / height));
    home();
  };
  const home = () => {
    draw();
    view.scrollTop = spots[0].y * zoom - view.clientHeight / 2;
    view.scrollLeft = 0;
  };

  const picture = U.svg("svg", { role: "tree", "aria-label": "the tree" });
  const view = U.el("div", { class: "tree-view" }, picture);
  const side = U.el("div", { class: "side", "aria-live": "polite" });
  picture.addEventListener("keydown", keys);
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // plain scrolling stays scrolling
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300));
  }, { passive: false });
  // Dragging with a mouse moves the picture; fingers scroll it anyway.
  let held = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) held = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    view.scrollLeft = held.left - (event.clientX - held.x);
    view.scrollTop = held.top - (event.clientY - held.y);
  });
  window.addEventListener("pointerup", () => { held = null; });

  const button = (text, act, label) => U.el("button", { type: "button", onclick: act, "aria-label": label }, text);
  place.append(
    U.el("div", { class: "bar" },
      button("\u2212", () => zoomBy(1 / 1.25), "zoom out"), button("+", () => zoomBy(1.25), "zoom in"),
      button("Fit", fit), button("Open all", () => { openTo(Infinity); fit(); }),
      button("Close all", () => { open.clear(); chosen = 0; zoom = 1; home(); describe(); }),
      U.el("small", {}, "Click a node to open or close it; arrow keys walk the tree.")),
    U.el("div", { class: "tree-pane" }, view, side));
  openSome();
  if (view.clientWidth < NARROW) openTo(1);
  zoom = Math.max(READABLE, Math.min(1, (view.clientWidth - 4) / lay()[0]));
  home();
  describe();
  return {
    pick: (node) => pick(node, false),
    chosen: () => chosen,
    follow(node) {
      passed = new Set(routing.path(node));
      for (const [at, group] of drawn) group.classList.toggle("passed", passed.has(at));
      picture.querySelectorAll(".tree-edge").forEach((edge, k) => edge.classList.toggle("passed", passed.has(spots[k + 1].node)));
    },
  };
};
