// Opens the page: reads the data, then fills the sections of the template.
U.open = () => {
  const data = JSON.parse(U.byId("data").textContent);
  U.data = data;
  for (const column of data.columns) if (column.cuts) column.cuts = U.array(column.cuts);
  data.rows.values = data.rows.values.map(U.array);
  data.typical = data.typical.map((value) => (value === null ? NaN : value));
  for (const part of data.parts) {
    part.attributes.forEach((attribute, j) => {
      attribute.name = data.columns[j].name;
      for (const name of ["weights", "low", "high", "counts", "logs", "shares", "spread"]) {
        const packed = attribute[name];
        attribute[name] = packed ? U.lazy(() => U.array(packed)) : null;
      }
    });
    for (const pair of part.pairs || []) {
      const { logs, counts, margins } = pair;
      pair.names = pair.columns.map((j) => data.columns[j].name);
      pair.logs = U.lazy(() => U.array(logs));
      pair.counts = U.lazy(() => U.array(counts));
      pair.margins = margins.map((packed) => U.lazy(() => U.array(packed)));
    }
  }
  const model = data.answer ? U.node(data.answer, data.columns, data.classes.length) : null;
  U.model = model;
  const fill = (id, act) => { const place = U.byId(id); return place ? act(place) : null; };

  fill("calibration", (place) => U.calibration(place, data.calibration, data.classes));
  if (data.curves.length) fill("curves", (place) => U.curves(place, data.curves, data.classes));
  if (data.decision) U.decideView = fill("decide-view", (place) => U.decide(place, data.decision, data.classes));
  const evidence = data.parts.length ? fill("evidence-view", (place) => U.evidence(place, data)) : null;
  U.evidenceView = evidence;
  if (data.parts.length && data.parts[0].pairs) fill("pairs-view", (place) => U.pairs(place, data));
  // The tree may be inside a decomposition; its labels are then clusters.
  let rooted = model;
  while (rooted && !rooted.routing && rooted.inner) rooted = rooted.inner;
  if (data.tree) {
    U.treeView = fill("tree-view", (place) => U.tree(place, data, rooted.routing, (node) => {
      evidence.show(data.parts.findIndex((part) => part.node === node));
      U.byId("evidence").scrollIntoView();
    }));
  }
  if (model) {
    U.tryView = fill("try-view", (place) => {
      if (U.treeView) place.addEventListener("answered", (event) => U.treeView.follow(rooted.arrive(event.detail.row)));
      return U.whatIf(place, data, model);
    });
  }
  if (data.parts.length) U.compareView = fill("compare-view", (place) => U.compare(place, data));

  U.theme();
  U.follow();
  document.documentElement.dataset.ready = "true";
};

// Light or dark: as the system is set, until the reader chooses.
U.theme = () => {
  const button = U.byId("theme"), root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches);
  const label = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
  button.hidden = false;
  label();
};

// Marks the section being read in the table of contents.
U.follow = () => {
  const links = Array.from(document.querySelectorAll(".contents a"));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) for (const link of links) link.setAttribute("aria-current", link.hash === `#${entry.target.id}`);
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));
};

U.open();
