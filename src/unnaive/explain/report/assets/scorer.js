// From a row to probabilities, as predict_proba computes them. A row is an array: numbers with NaN
// for missing, slots of categories (0 missing, 1 to V the values, V + 1 never seen).

U.FARTHEST = 0.5 * 100 ** 2; // more than 100 standard deviations add nothing

U.softmax = (joint) => {
  const largest = joint.reduce((most, score) => Math.max(most, score), -Infinity);
  const out = Float64Array.from(joint, (score) => Math.exp(score - largest)), total = U.sum(out);
  return out.map((part) => part / total);
};

U.sum = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

U.best = (scores) => {
  let best = 0;
  for (let c = 1; c < scores.length; c++) if (scores[c] > scores[best]) best = c;
  return best;
};

// Slot of a number: 0 missing, then 1 + how many cuts lie below it.
U.slot = (cuts, value) => {
  if (Number.isNaN(value)) return 0;
  let low = 0, high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] < value) low = middle + 1; else high = middle;
  }
  return low + 1;
};

// Log density, linear between the nodes logs[first] to logs[last - 1], constant beyond them.
U.lookUp = (place, logs, first, last) => {
  if (place <= 0) return logs[first];
  if (place >= last - first - 1) return logs[last - 1];
  const k = Math.floor(place);
  return logs[first + k] + (place - k) * (logs[first + k + 1] - logs[first + k]);
};

U.slotsOf = (columns, row) => {
  const out = new Int32Array(columns.length);
  for (let j = 0; j < columns.length; j++) {
    const cuts = columns[j].cuts;
    out[j] = cuts ? U.slot(cuts, row[j]) : columns[j].names ? row[j] : 0;
  }
  return out;
};

// Terms: add(value, slot, out, at) adds the evidence of one attribute to out, from place `at`.
U.TERMS = {
  table(term, units) {
    const logs = U.array(term.logs);
    return (value, slot, out, at) => {
      for (let c = 0; c < units; c++) out[at + c] += logs[slot * units + c];
    };
  },
  gaussian(term, units) {
    const [peak, mean, deviation, missing] =
      [term.peak, term.mean, term.deviation, term.missing].map(U.array);
    return (value, slot, out, at) => {
      for (let c = 0; c < units; c++) {
        const z = (value - mean[c]) / deviation[c];
        out[at + c] += Number.isNaN(value) ? missing[c] : peak[c] - Math.min(0.5 * z * z, U.FARTHEST);
      }
    };
  },
  kernel(term, units) {
    const [start, perStep, first, last, logs, there, missing] =
      [term.start, term.per_step, term.first, term.last, term.logs, term.there, term.missing]
        .map(U.array);
    const inverse = 1 / term.half_range;
    return (value, slot, out, at) => {
      for (let c = 0; c < units; c++) {
        if (Number.isNaN(value)) { out[at + c] += missing[c]; continue; }
        const place = (0.5 * value - 0.5 * term.low) * (inverse * perStep[c]) - start[c] * perStep[c];
        out[at + c] += there[c] + U.lookUp(place, logs, first[c], last[c]);
      }
    };
  },
};

// add(row, out) adds the evidence of two columns together.
U.pair = (data, units) => {
  const logs = U.array(data.logs);
  const [first, second] = data.slots.map((numbering, k) => {
    const j = data.columns[k], cuts = numbering.cuts && U.array(numbering.cuts), slots = numbering.slots && U.array(numbering.slots);
    return (row) => (cuts ? U.slot(cuts, row[j]) : slots ? slots[Math.min(row[j], slots.length - 1)] : 0);
  });
  return (row, out) => {
    const at = (first(row) * data.width + second(row)) * units;
    for (let c = 0; c < units; c++) out[c] += logs[at + c];
  };
};

// One naive Bayes, or several side by side: `units` scores in all.
U.scorer = (data, columns) => {
  const prior = U.array(data.prior), units = prior.length;
  const terms = data.terms.map((term) => term && U.TERMS[term.kind](term, units));
  const pairs = data.pairs.map((pair) => U.pair(pair, units));
  return {
    prior,
    units,
    pairs,
    joint(row) {
      const out = Float64Array.from(prior), slots = U.slotsOf(columns, row);
      terms.forEach((add, j) => { if (add) add(row[j], slots[j], out, 0); });
      for (const add of pairs) add(row, out);
      return out;
    },
    // Evidence of one attribute for one value.
    term(j, value) {
      const out = new Float64Array(units), cuts = columns[j].cuts;
      if (terms[j]) terms[j](value, cuts ? U.slot(cuts, value) : value, out, 0);
      return out;
    },
  };
};

U.routing = (data, columns) => {
  const routing = {};
  for (const name of ["attribute", "parent", "child_start", "child", "route_start", "route",
    "offsets"]) routing[name] = U.array(data[name]);
  routing.children = (node) =>
    Array.from(routing.child.subarray(routing.child_start[node], routing.child_start[node + 1]));
  // The child that a slot of the node's attribute leads to, -1 where it has none.
  routing.follow = (node, slot) => {
    const j = routing.attribute[node];
    if (slot === 0 || slot === routing.offsets[j + 1] - routing.offsets[j] - 1) return -1;
    let start = routing.route_start[node], first = routing.child_start[node];
    if (!columns[j].cuts) {
      const place = routing.route[start + slot - 1];
      return place < 0 ? -1 : routing.child[first + place];
    }
    const end = routing.child_start[node + 1];
    while (first < end - 1 && slot > routing.route[start]) { first++; start++; }
    return routing.child[first];
  };
  // The node where a row stops: a leaf, or one that has no child for its value.
  routing.arrive = (slots) => {
    let node = 0;
    while (routing.attribute[node] >= 0) {
      const child = routing.follow(node, slots[routing.attribute[node]]);
      if (child < 0) break;
      node = child;
    }
    return node;
  };
  routing.path = (node) => {
    const out = [];
    for (let at = node; at >= 0; at = routing.parent[at]) out.unshift(at);
    return out;
  };
  return routing;
};

// Nodes of an answer. proba(row) is predict_proba; nodes whose evidence adds up have
// parts(row) -> {base, node, term(j, value)}: softmax of base plus all terms is proba(row).
U.NODES = {
  table(data, columns) {
    const scorer = U.scorer(data.scorer, columns);
    return {
      joint: scorer.joint,
      proba: (row) => U.softmax(scorer.joint(row)),
      // Evidence of pairs belongs to no single column: then moves are shown instead of sums.
      parts: scorer.pairs.length ? undefined : () => ({ base: scorer.prior, term: scorer.term }),
    };
  },

  bayes_tree(data, columns, classes) {
    const routing = U.routing(data.tree, columns);
    const [prior, place, logs] = [data.prior, data.place, data.logs].map(U.array);
    const width = routing.offsets[routing.offsets.length - 1], nodes = routing.attribute.length;
    const dense = data.scales &&
      [data.start, data.per_step, data.first, data.last, data.densities].map(U.array);
    const addDensity = (node, j, value, out) => {
      const [start, perStep, first, last, tables] = dense, [low, halfRange] = data.scales[j];
      for (let c = 0; c < classes; c++) {
        const at = (j * nodes + node) * classes + c;
        if (last[at] === 0) continue;
        const x = (0.5 * value - 0.5 * low) * (1 / halfRange * perStep[at]) - start[at] * perStep[at];
        out[c] += U.lookUp(x, tables, first[at], last[at]);
      }
    };
    const add = (node, j, value, slot, out) => {
      const at = place[node * width + routing.offsets[j] + slot] * classes;
      const evidence = Float64Array.from(logs.subarray(at, at + classes));
      if (dense && data.scales[j] && slot !== 0) addDensity(node, j, value, evidence);
      evidence.forEach((log, c) => { out[c] += log; });
    };
    const base = (node) => prior.subarray(node * classes, (node + 1) * classes);
    const arrive = (row) => routing.arrive(U.slotsOf(columns, row));
    const joint = (row) => {
      const slots = U.slotsOf(columns, row), node = routing.arrive(slots);
      const out = Float64Array.from(base(node));
      for (let j = 0; j < columns.length; j++) add(node, j, row[j], slots[j], out);
      return out;
    };
    return {
      routing,
      arrive,
      joint,
      proba: (row) => U.softmax(joint(row)),
      parts(row) {
        const node = arrive(row);
        return {
          node,
          base: base(node),
          term(j, value) {
            const out = new Float64Array(classes), cuts = columns[j].cuts;
            add(node, j, value, cuts ? U.slot(cuts, value) : columns[j].names ? value : 0, out);
            return out;
          },
        };
      },
    };
  },

  class_tree(data, columns, classes) {
    const routing = U.routing(data.tree, columns);
    const [share, answer] = [data.share, data.answer].map(U.array);
    // The nodes where a row ends, with the share of the row at each.
    const ends = (row) => {
      const slots = U.slotsOf(columns, row), pending = [[0, 1]], reached = [];
      while (pending.length) {
        let [node, weight] = pending.pop(), split = false;
        while (routing.attribute[node] >= 0) {
          const j = routing.attribute[node], child = routing.follow(node, slots[j]);
          if (child < 0) {
            split = slots[j] === 0 || slots[j] === routing.offsets[j + 1] - routing.offsets[j] - 1;
            break;
          }
          node = child;
        }
        if (split) for (const child of routing.children(node)) pending.push([child, weight * share[child]]);
        else reached.push([node, weight]);
      }
      return reached;
    };
    return {
      routing,
      ends,
      arrive: (row) => routing.arrive(U.slotsOf(columns, row)),
      proba(row) {
        const out = new Float64Array(classes);
        for (const [node, weight] of ends(row)) {
          for (let c = 0; c < classes; c++) out[c] += weight * answer[node * classes + c];
        }
        return out;
      },
    };
  },

  // Members, or models that one scorer scores, combined by weight: the mean of their probabilities or
  // votes, or the softmax of a weighted sum. One member is a calibration: its parts stay what they are.
  ensemble(data, columns, classes) {
    const weights = U.array(data.weights), intercept = U.array(data.intercept), least = -52 * Math.LN2;
    const softmax = data.combine === "softmax";
    const vote = (scores) => Float64Array.from(scores, (_, c) => Number(c === U.best(scores)));
    const scorer = data.scorer && U.scorer(data.scorer, columns), ofScores = { probability: U.softmax, vote, log_probability: (scores) => scores }[data.output];
    const nodes = scorer ? [] : data.members.map((member, k) => {
      const memberColumns = data.columns[k].map((one, j) => ({ ...columns[j], cuts: one.cuts && U.array(one.cuts) }));
      return U.node(member, memberColumns, classes);
    });
    const outputs = nodes.map((inner, k) => {
      const slots = data.columns[k].map((one) => one.slots && U.array(one.slots));
      const logs = inner.joint || ((row) => inner.proba(row).map((part) => Math.max(Math.log(part), least)));
      const output = { probability: inner.proba, vote: (row) => vote(inner.proba(row)), log_probability: logs }[data.output];
      return (row) => output(row.map((value, j) => (slots[j] ? slots[j][Math.min(value, slots[j].length - 1)] : value)));
    });
    const all = (row) => {
      if (!scorer) return outputs.map((output) => output(Array.from(row)));
      const joint = scorer.joint(row);
      return Array.from(weights, (_, k) => ofScores(joint.subarray(k * classes, (k + 1) * classes)));
    };
    const members = (row) => all(row).map((given, k) => Float64Array.from(given, (part) => part * weights[k]));
    const total = (row) => U.total([intercept, ...members(row)], classes);
    const [inner] = nodes.length === 1 ? nodes : [{}], { routing, arrive, ends } = inner;
    return {
      inner: inner.proba && inner,
      routing,
      arrive,
      ends,
      members: scorer ? members : inner.members,
      joint: data.bounded ? total : undefined,
      proba: (row) => (softmax ? U.softmax(total(row)) : total(row)),
    };
  },

  // The mean of the leaves that a row ends in; leaves
  // list the classes they have, and what these leave of 1 goes to all classes as they are in all rows.
  forest(data, columns, classes) {
    const tree = {};
    for (const name of ["start", "attribute", "test", "missing_first", "route", "first_child", "first_entry",
      "entry_class", "entry_share", "rest", "prior"]) tree[name] = U.array(data[name]);
    const first = (node, slot) => {
      if (columns[tree.attribute[node]].cuts) return slot ? slot <= tree.test[node] : tree.missing_first[node];
      return (tree.route[tree.test[node] + (slot >> 5)] >>> (slot & 31)) & 1;
    };
    return {
      proba(row) {
        const slots = U.slotsOf(columns, row), out = new Float64Array(classes), trees = tree.start.length - 1;
        let rest = 0;
        for (let t = 0; t < trees; t++) {
          let node = tree.start[t];
          while (tree.first_child[node] >= 0) {
            node = tree.first_child[node] + (first(node, slots[tree.attribute[node]]) ? 0 : 1);
          }
          for (let k = tree.first_entry[node]; k < tree.first_entry[node + 1]; k++) {
            out[tree.entry_class[k]] += tree.entry_share[k];
          }
          rest += tree.rest[node];
        }
        return out.map((sum, c) => (sum + rest * tree.prior[c]) / trees);
      },
    };
  },

  // Gates divide a row among experts; an expert's share is its responsibility.
  mixture(data, columns, classes) {
    const scorer = U.scorer(data.scorer, columns), gates = data.first.length;
    const start = gates - 1 + data.experts;
    const members = (row) => {
      const joint = scorer.joint(row), responsibility = new Float64Array(gates + data.experts);
      responsibility[0] = 1;
      for (let g = 0; g < gates; g++) {
        const from = data.first[g];
        const shares = U.softmax(joint.subarray(from - 1, from - 1 + data.width[g]));
        shares.forEach((share, k) => { responsibility[from + k] = responsibility[g] * share; });
      }
      return Array.from({ length: data.experts }, (_, e) => {
        const scores = Float64Array.from({ length: classes }, (_, c) => joint[start + c * data.experts + e]);
        return U.softmax(scores).map((part) => part * responsibility[gates + e]);
      });
    };
    return { members, proba: (row) => U.total(members(row), classes) };
  },

  // Clusters folded to their classes: the sum, or the best one.
  folded(data, columns, classes) {
    const inner = U.node(data.inner, columns, data.owner.length);
    const members = (row) => Array.from(inner.proba(row), (part, p) =>
      Float64Array.from({ length: classes }, (_, c) => (c === data.owner[p] ? part : 0)));
    return {
      inner,
      members,
      proba(row) {
        const out = new Float64Array(classes);
        inner.proba(row).forEach((part, p) => {
          const c = data.owner[p];
          out[c] = data.method === "sum" ? out[c] + part : Math.max(out[c], part);
        });
        if (data.method === "sum") return out.map((part) => Math.min(part, 1));
        const total = U.sum(out);
        return out.map((part) => part / total);
      },
    };
  },
};

U.total = (members, classes) => {
  const out = new Float64Array(classes);
  for (const part of members) for (let c = 0; c < classes; c++) out[c] += part[c];
  return out;
};

U.node = (data, columns, classes) => U.NODES[data.kind](data, columns, classes);
