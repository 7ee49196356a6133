'use strict';
// What every page has: its data, and elements made of it. Whatever comes from a model, a case or a
// backend goes into text nodes and attributes only, never into markup.

// Its JSON escapes what is not seen or moves other text; people are shown the escapes.
const data = JSON.parse(document.getElementById('data').textContent.replace(
  /\\(?:(u(?!003c)[0-9a-f]{4})|.)/g, (escape, hidden) => hidden ? '\\\\' + hidden : escape));
const $ = (selector, root = document) => root.querySelector(selector);

/** An element; props that start with "on" are listeners, null ones are left out. */
function h(name, props, ...children) {
  const element = document.createElement(name);
  setProps(element, props);
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return element;
}

function svg(name, props, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  setProps(element, props);
  element.append(...children.flat(Infinity));
  return element;
}

function setProps(element, props) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
}

const count = n => n.toLocaleString('en').replaceAll(',', '\u2009');
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

/** Lets keys reach what scrolls sideways, as long as it does. */
function reach(selector) {
  const update = () => {
    const all = [...document.querySelectorAll(selector)];
    const scrolls = all.map(element => element.scrollWidth > element.clientWidth);  // measured before one changes
    all.forEach((element, i) => scrolls[i] ? element.setAttribute('tabindex', 0) : element.removeAttribute('tabindex'));
  };
  update();
  addEventListener('resize', update);
}
