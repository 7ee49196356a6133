// Groups the nodes of a graph: by the bodies of control flow, by the scopes of their names, and by
// runs of neighbours where a group has many members. A group is {label, parent, members, items, open};
// a member is a group or an item of the list.

const mostMembers = 32;  // a layout takes about 2 ms a member up to here, and grows faster
const runLength = 16;

/** The name that has the scopes. A converter numbers its nodes ("12/Conv"); then the value has them. */
function scopedName(item, body) {
  const bare = name => name.startsWith(body) ? name.slice(body.length) : name;
  const own = bare(item.name);
  if (own && !/^\d+\//.test(own)) return own;
  return bare(item.outputs[0] ?? '').split(';')[0];
}

/** Gives each node the labels of its groups, outermost first: those of the node whose body it is in,
    the body, and the scopes of its name. */
function setScopes(nodes, bodies) {
  const bodyOf = new Map();
  bodies.forEach(body => nodes.slice(body.begin, body.end).forEach(node => bodyOf.set(node, body)));
  const scopes = node => {
    const body = bodyOf.get(node);
    const path = body?.path ?? '';
    node.scopes ??= [...(body ? [...scopes(nodes[body.node]), path.replace(/\/$/, '')] : []),
      ...scopedName(node, path).split('/').filter(Boolean).slice(0, -1)];
    return node.scopes;
  };
  nodes.forEach(scopes);
}

const newGroup = (label, parent) => ({label, parent, members: [], items: [], open: false});

function treeOf(items) {
  const root = newGroup('', null);
  const inner = new Map([[root, new Map()]]);
  for (const item of items) {
    let group = root;
    for (const label of item.scopes ?? []) {
      const known = inner.get(group);
      if (!known.has(label)) {
        const made = newGroup(label, group);
        known.set(label, made);
        inner.set(made, new Map());
        group.members.push(made);
      }
      group = known.get(label);
    }
    group.members.push(item);
  }
  tidy(root);
  root.open = true;
  return root;
}

const labelOf = member => member.members ? member.label : member.op;

/** Replaces a group of one member by that member, and many members by runs; then items know their groups. */
function tidy(group) {
  group.members = group.members.map(member => {
    if (!member.members) return member;
    tidy(member);
    const [only, ...others] = member.members;
    if (others.length > 0) return member;
    if (only.members) only.label = `${member.label}/${only.label}`;
    return only;
  });
  while (group.members.length > mostMembers) {
    const runs = Math.ceil(group.members.length / runLength);
    const parts = Array.from({length: runs}, (_, i) => group.members.slice(
      Math.round(i * group.members.length / runs), Math.round((i + 1) * group.members.length / runs)));
    group.members = parts.map(part => {
      const run = newGroup(`${labelOf(part[0])} … ${labelOf(part.at(-1))}`, group);
      run.members = part;
      adopt(run);
      return run;
    });
  }
  adopt(group);
}

function adopt(group) {
  group.items = group.members.flatMap(member => member.items ?? [member]);
  for (const member of group.members) member.parent = group;
}

/** Opens groups, outer ones first, as long as at most `most` boxes are drawn. */
function openUpTo(root, most) {
  let drawn = root.members.length;
  for (const queue = [root]; queue.length > 0;) {
    const group = queue.shift();
    if (!group.open && drawn + group.members.length > most) continue;
    if (!group.open) drawn += group.members.length;
    group.open = true;
    queue.push(...group.members.filter(member => member.members));
  }
}

const ancestors = member => {
  const list = [];
  for (let group = member.parent; group; group = group.parent) list.push(group);
  return list;  // innermost first
};

/** Tells each group which of its members a value joins (links), and which take it from outside
    (enters) or give it away (leaves). */
function linkGroups(root, edges) {
  const each = group => {
    Object.assign(group, {links: new Map(), enters: new Map(), leaves: new Map()});
    group.members.filter(member => member.members).forEach(each);
  };
  each(root);
  const ids = new Map();
  const id = member => ids.get(member) ?? ids.set(member, ids.size).get(member);
  const put = (map, name, member) => map.set(name, (map.get(name) ?? new Set()).add(member));
  for (const {from, to, name} of edges) {
    const above = new Set(ancestors(from));
    let [source, target] = [from, to];
    for (; !above.has(target.parent); target = target.parent) put(target.parent.enters, name, target);
    for (; source.parent !== target.parent; source = source.parent) put(source.parent.leaves, name, source);
    const {links} = target.parent;
    const key = `${id(source)} ${id(target)}`;
    if (!links.has(key)) links.set(key, {source, target, names: new Set()});
    links.get(key).names.add(name);
  }
}
