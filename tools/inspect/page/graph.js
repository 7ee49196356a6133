// Draws the groups of groups.js: dagre lays out the members of each open group, a group is as large as
// its layout, and only groups whose members changed are laid out again.

const sizes = {box: {width: 200, height: 38}, label: 19, letter: 6, header: 22, pad: 10};
const mostPorts = 6;
const mostRouted = 240;  // lines of a group around which dagre finds a way; it takes seconds for 500
const mostOpen = 600;  // boxes that "Open all" draws

/** As many characters as fit, both ends kept: converted names often differ only at the end. */
function shortened(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor(most * .6);
  return `${text.slice(0, most - tail - 1)}…${text.slice(text.length - tail)}`;
}

/** The layout of an open group: {width, height, places, lines}; `labels` gives what is written where
    values leave a box. */
function layoutOf(group, labels) {
  if (group.layout) return group.layout;
  const {box, label, letter, header, pad} = sizes;
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({nodesep: 14, ranksep: 22, edgesep: 8, marginx: pad, marginy: pad});
  graph.setDefaultEdgeLabel(() => ({}));
  const places = [...group.members.map(member => ({member})), ...portsOf(group)];
  const at = new Map();
  places.forEach((place, i) => {
    const inner = place.member?.open ? layoutOf(place.member, labels) : null;
    place.width = inner?.width ?? (place.port ? 130 : box.width);
    place.drawn = inner ? inner.height : place.port ? 18 : box.height;
    graph.setNode(String(i), {width: place.width, height: place.drawn + (place.port ? 0 : label)});
    at.set(place.member ?? place.port, i);
  });
  const lines = [];
  const join = (from, to, names) => {
    if (from === to) return;
    lines.push({from: places[from], to: places[to], names, ends: [String(from), String(to)]});
    if (lines.length <= mostRouted) graph.setEdge(String(from), String(to));
  };
  for (const {source, target, names} of group.links.values()) join(at.get(source), at.get(target), names);
  for (const place of places.filter(place => place.port)) {
    for (const [member, names] of place.joins) {
      place.enters ? join(at.get(place.port), at.get(member), names) : join(at.get(member), at.get(place.port), names);
    }
  }
  dagre.layout(graph);
  places.forEach((place, i) => {
    const node = graph.node(String(i));
    place.x = node.x - node.width / 2;
    place.y = node.y - node.height / 2 + header;
  });
  for (const line of lines) line.points = (graph.edge(...line.ends)?.points ?? []).slice(1, -1).map(({x, y}) => ({x, y: y + header}));
  for (const {from, names} of lines) if (!from.port) from.gives = new Set([...(from.gives ?? []), ...names]);
  const {width, height} = graph.graph();
  const ends = places.filter(place => place.gives).map(place => {
    place.label = labels(place.gives);
    return place.x + place.width / 2 + place.label.words.length * letter + 2 * pad;
  });
  group.layout = {width: Math.max(width, box.width, ...ends), height: height + header, places, lines};
  return group.layout;
}

/** Where values come into a group and leave it; many are drawn as one. */
function portsOf(group) {
  const port = (names, map, enters) => {
    const joins = new Map();  // the names for each member
    for (const name of names) for (const member of map.get(name)) joins.set(member, (joins.get(member) ?? new Set()).add(name));
    return {port: {}, enters, names, joins};
  };
  const ports = (map, enters) => map.size > mostPorts ? [port(new Set(map.keys()), map, enters)]
    : [...map.keys()].map(name => port(new Set([name]), map, enters));
  return [...ports(group.enters, true), ...ports(group.leaves, false)];
}

/** A line that leaves straight down, past the label there, and arrives from above. */
function curve({from, to, points}) {
  const start = {x: from.x + from.width / 2, y: from.y + from.drawn + (from.port ? 0 : sizes.label)};
  const all = [start, ...points, {x: to.x + to.width / 2, y: to.y}];
  return all.map(({x, y}, i) => {
    if (i === 0) return `M${x.toFixed(1)} ${(from.y + from.drawn).toFixed(1)}V${y.toFixed(1)}`;
    const before = all[i - 1], middle = ((before.y + y) / 2).toFixed(1);
    return `C${before.x.toFixed(1)} ${middle} ${x.toFixed(1)} ${middle} ${x.toFixed(1)} ${y.toFixed(1)}`;
  }).join('');
}

/** The drawing in `frame`. `tell` says what a box shows: overlay(items) gives {kind, words}, value(name)
    the type of a value, wrong(items) the number of findings, choose(item) is called on a choice. */
class Drawing {
  constructor(frame, root, edges, tell) {
    Object.assign(this, {frame, root, edges, tell, zoom: 1, chosen: null, boxes: new Map()});
    this.current = null;  // the member whose box has the focus
    linkGroups(root, edges);
    this.svg = svg('svg', {class: 'drawing', role: 'group', 'aria-label': 'Graph'});
    frame.append(this.svg);
    this.svg.addEventListener('keydown', event => this.key(event));
    frame.addEventListener('wheel', event => this.wheel(event), {passive: false});
    this.drags();
  }

  /** Draws anew, with `member` where it is on the screen. */
  draw(member = null) {
    const before = member && this.boxes.get(member)?.getBoundingClientRect();
    const focused = this.svg.contains(document.activeElement);
    this.boxes.clear();
    const layout = this.layout(this.root);
    this.size = {width: layout.width, height: layout.height};
    this.svg.replaceChildren(this.arrow(), ...this.inside(layout));
    this.setZoom(this.zoom);
    this.setCurrent(this.boxes.has(this.current) ? this.current : this.boxes.keys().next().value, focused);
    if (!before) return;
    const after = this.boxes.get(member).getBoundingClientRect();
    this.frame.scrollLeft += after.left - before.left;
    this.frame.scrollTop += after.top - before.top;
  }

  arrow() {
    return svg('defs', null, svg('marker', {id: 'arrow', viewBox: '0 0 6 6', refX: 6, refY: 3, markerWidth: 6, markerHeight: 6, orient: 'auto'},
      svg('path', {class: 'tip', d: 'M0 0L6 3L0 6z'})));
  }

  inside({places, lines}) {
    const drawn = lines.map(line => svg('path', {class: 'line', d: curve(line), 'marker-end': 'url(#arrow)'},
      svg('title', null, [...line.names].map(name => `${name}: ${this.tell.value(name).words}`).slice(0, 12).join('\n'))));
    const words = places.filter(place => place.label).map(({x, y, width, drawn: height, label}) =>
      svg('text', {x: x + width / 2 + 5, y: y + height + 14, class: label.inferred ? 'type inferred' : 'type', 'aria-hidden': 'true'}, label.words));
    return [...drawn, ...words, ...places.map(place => place.port ? this.port(place) : place.member.open ? this.open(place) : this.box(place))];
  }

  layout(group) {
    return layoutOf(group, names => {
      const list = [...names].map(name => this.tell.value(name));
      const {words, inferred} = list.length === 1 ? list[0] : {words: `${list.length} values`, inferred: false};
      return {words: shortened(words, 32), inferred};
    });
  }

  port({x, y, width, drawn, names, enters}) {
    const words = names.size === 1 ? [...names][0] : `${names.size} values`;
    return svg('g', {class: 'port', transform: `translate(${x} ${y})`},
      svg('title', null, `${enters ? 'from outside' : 'to outside'}: ${[...names].slice(0, 12).join('\n')}`),
      svg('rect', {width, height: drawn, rx: drawn / 2}),
      svg('text', {x: width / 2, y: 12.5, 'text-anchor': 'middle'}, shortened(words, 20)));
  }

  box({member, x, y, width, drawn}) {
    const group = Boolean(member.members);
    const items = group ? member.items : [member];
    const {kind, words} = this.tell.overlay(items, group ? null : member);
    const wrong = this.tell.wrong(items);
    const name = group ? '' : member.name || member.outputs[0] || '';
    const [first, second] = [shortened(group ? member.label : member.op, 26), shortened(words || name || plural(items.length, 'node'), 29)];
    return this.button(member, `box ${group ? 'group' : 'item'} ${kind}`, {transform: `translate(${x} ${y})`,
      'aria-label': [`${first} ${second}`, first.includes('…') && (member.label ?? member.op), second !== name && name,
        group && words && plural(items.length, 'node'), wrong > 0 && plural(wrong, 'finding')].filter(Boolean).join(', ')},
    group && svg('rect', {class: 'behind', x: 4, y: 4, width, height: drawn, rx: 5}),
    svg('rect', {class: 'ground', width, height: drawn, rx: 5}),
    svg('text', {x: 9, y: 15, class: 'op'}, first), ' ', svg('text', {x: 9, y: 30, class: 'words'}, second),
    group && this.sign(width, 'M-4 0h8M0 -4v8'),
    wrong > 0 && svg('path', {class: 'warn', d: `M${width - (group ? 36 : 20)} 15l5-9l5 9z`}));
  }

  open({member, x, y, width, drawn}) {
    const words = shortened(member.label, Math.floor(width / 8) - 4);
    return svg('g', {class: 'frame', transform: `translate(${x} ${y})`},
      svg('rect', {class: 'ground', width, height: drawn, rx: 6}),
      this.button(member, 'box head', {'aria-label': [words, words.includes('…') && member.label, plural(member.items.length, 'node')].filter(Boolean).join(', ')},
        svg('rect', {class: 'ground', width, height: sizes.header, rx: 6}),
        svg('text', {x: 9, y: 15, class: 'op'}, words), this.sign(width, 'M-4 0h8')),
      this.inside(this.layout(member)));
  }

  sign(width, d) {
    return svg('path', {class: 'sign', d, transform: `translate(${width - 13} 11)`});
  }

  button(member, kind, props, ...children) {
    const group = Boolean(member.members);
    const element = svg('g', {class: kind, role: 'button', tabindex: -1, ...props,
      'aria-expanded': group ? String(member.open) : null, 'aria-pressed': group ? null : String(member === this.chosen),
      onclick: () => { this.setCurrent(member); this.act(member); }},
    svg('title', null, props['aria-label']), ...children.filter(Boolean));
    this.boxes.set(member, element);
    return element;
  }

  act(member) {
    if (!member.members) this.tell.choose(member);
    else this.setOpen(member, !member.open);
  }

  setOpen(group, open) {
    group.open = open;
    this.forget(group);
    this.draw(group);
  }

  forget(group) {
    for (const above of [group, ...ancestors(group)]) above.layout = null;
  }

  /** Opens or closes all groups but the root. */
  setAll(open) {
    const each = group => {
      group.open = open || group === this.root;
      group.layout = null;
      group.members.filter(member => member.members).forEach(each);
    };
    each(this.root);
    this.draw();
  }

  /** Marks an item and opens its groups. */
  choose(item, scroll = true) {
    this.chosen = item;
    const closed = ancestors(item).filter(group => !group.open);
    for (const group of closed) { group.open = true; this.forget(group); }
    if (closed.length > 0) this.draw();
    for (const [member, box] of this.boxes) if (!member.members) box.setAttribute('aria-pressed', String(member === item));
    this.setCurrent(item);
    if (scroll) this.center(item);
  }

  center(member) {
    const box = this.boxes.get(member).getBoundingClientRect(), frame = this.frame.getBoundingClientRect();
    this.frame.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2;
    this.frame.scrollTop += box.top + box.height / 2 - frame.top - frame.height / 2;
  }

  // One box is in the order of the Tab key; arrows move on from it.
  setCurrent(member, focus = false) {
    this.boxes.get(this.current)?.setAttribute('tabindex', '-1');
    this.current = member;
    const box = this.boxes.get(member);
    box?.setAttribute('tabindex', '0');
    if (focus) box?.focus({preventScroll: true});
  }

  setZoom(zoom, at = null) {
    const {left, top} = this.frame.getBoundingClientRect();
    const [x, y] = at ? [at.x - left, at.y - top] : [this.frame.clientWidth / 2, 0];
    const old = this.zoom;
    this.zoom = Math.min(3, Math.max(.05, zoom));
    const {width, height} = this.size;
    setProps(this.svg, {viewBox: `0 0 ${width} ${height}`, width: width * this.zoom, height: height * this.zoom});
    if (this.zoom === old) return;
    this.frame.scrollLeft = (this.frame.scrollLeft + x) * this.zoom / old - x;
    this.frame.scrollTop = (this.frame.scrollTop + y) * this.zoom / old - y;
  }

  /** Shows all of it. */
  fit() {
    const {width, height} = this.size;
    this.setZoom(Math.min(1, this.frame.clientWidth / width, this.frame.clientHeight / height));
  }

  /** Shows the whole width where that can be read, and the first box. */
  begin() {
    this.setZoom(Math.max(.6, Math.min(1, this.frame.clientWidth / this.size.width)));
    this.center(this.current);
  }

  wheel(event) {
    if (!event.ctrlKey) return;  // a plain wheel scrolls
    event.preventDefault();
    this.setZoom(this.zoom * Math.exp(-event.deltaY / 300), {x: event.clientX, y: event.clientY});
  }

  drags() {
    let from = null, moved = false;
    this.frame.addEventListener('pointerdown', event => {
      if (event.pointerType === 'mouse' && event.button === 0) from = {x: event.clientX, y: event.clientY};
      moved = false;
    });
    window.addEventListener('pointermove', event => {
      if (!from) return;
      const [x, y] = [event.clientX - from.x, event.clientY - from.y];
      if (!moved && Math.hypot(x, y) < 5) return;
      moved = true;
      this.frame.scrollLeft -= x;
      this.frame.scrollTop -= y;
      from = {x: event.clientX, y: event.clientY};
    });
    window.addEventListener('pointerup', () => { from = null; });
    this.frame.addEventListener('click', event => { if (moved) event.stopPropagation(); }, true);
  }

  key(event) {
    const {current} = this;
    const next = {ArrowDown: () => this.along(current, 1), ArrowUp: () => this.along(current, -1),
      ArrowRight: () => this.beside(current, 1), ArrowLeft: () => this.beside(current, -1), Home: () => this.boxes.keys().next().value};
    const acts = {Enter: () => this.act(current), ' ': () => this.act(current), '+': () => this.setZoom(this.zoom * 1.25),
      '-': () => this.setZoom(this.zoom / 1.25), 0: () => this.fit(),
      Escape: () => { if (current.parent !== this.root) { this.current = current.parent; this.setOpen(current.parent, false); } }};
    const act = next[event.key] ? () => { const to = next[event.key](); if (to) { this.setCurrent(to, true); this.center(to); } } : acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  /** The box that draws an item: its own, or that of the outermost closed group around it. */
  drawnBy(item) {
    return ancestors(item).reverse().find(group => !group.open) ?? item;
  }

  /** The box after or before `member` along its values: the highest or the lowest of several. */
  along(member, step) {
    if (member.open && step > 0) return this.nearest(member.members.filter(m => this.boxes.has(m)), (a, b) => a.top - b.top);
    const within = new Set(member.items ?? [member]);
    const [near, far] = step > 0 ? ['from', 'to'] : ['to', 'from'];
    const others = new Set(this.edges.filter(edge => within.has(edge[near]) && !within.has(edge[far])).map(edge => this.drawnBy(edge[far])));
    return this.nearest([...others], (a, b) => step * (a.top - b.top)) ?? (step < 0 && member.parent !== this.root ? member.parent : null);
  }

  /** The nearest box to the right or the left that is about as high. */
  beside(member, step) {
    const here = this.boxes.get(member).getBoundingClientRect();
    const there = [...this.boxes.keys()].filter(other => {
      const box = this.boxes.get(other).getBoundingClientRect();
      return step * (box.left - here.left) > 1 && box.top < here.bottom && box.bottom > here.top;
    });
    return this.nearest(there, (a, b) => step * (a.left - b.left));
  }

  nearest(members, order) {
    const place = new Map(members.map(member => [member, this.boxes.get(member).getBoundingClientRect()]));
    return members.sort((a, b) => order(place.get(a), place.get(b)))[0];
  }
}
