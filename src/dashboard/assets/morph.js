// Makes one tree like another with as few changes as possible: equal nodes are not touched, so
// focus, selection, scrolling and <details> that were opened stay as they are.
//
// The modules mark their own elements: data-own="added" is not in the server's page and stays;
// data-own="kept" is in it, but a module has changed it, so it is not updated.

/**
 * @param {Element} old in the document
 * @param {Element} fresh in another document; its nodes are moved to the first
 */
export function morph(old, fresh) {
  // Not by recursion: a page may be nested deeply.
  const pairs = [[old, fresh]];
  while (pairs.length) {
    const [to, from] = pairs.pop();
    takeAttributes(to, from);
    pairs.push(...takeChildren(to, from));
  }
}

/** Attributes that the user changes: whether <details> are open. */
const OURS = new Set(['open']);

function takeAttributes(to, from) {
  for (const { name, value } of from.attributes) {
    if (!OURS.has(name) && to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
  for (const { name } of [...to.attributes]) {
    if (!from.hasAttribute(name) && !OURS.has(name)) to.removeAttribute(name);
  }
}

/**
 * Moves the children of @from into @to; returns the pairs of corresponding children that differ.
 */
function takeChildren(to, from) {
  const before = new Map([...to.childNodes].filter(isOfPage).map(withKey()));
  const pairs = [];
  let place = nextOfPage(to.firstChild);
  for (const [key, fresh] of [...from.childNodes].map(withKey())) {
    const same = before.get(key);
    before.delete(key);
    if (!same) {
      to.insertBefore(document.adoptNode(fresh), place);
      continue;
    }
    if (same === place) place = nextOfPage(place.nextSibling);
    else to.insertBefore(same, place);
    if (same.nodeType === Node.TEXT_NODE) {
      if (same.data !== fresh.data) same.data = fresh.data;
    } else if (!same.dataset?.own && !same.isEqualNode(fresh)) {
      pairs.push([same, fresh]);
    }
  }
  for (const gone of before.values()) gone.remove();
  return pairs;
}

const isOfPage = (node) => node.dataset?.own !== 'added';

function nextOfPage(node) {
  while (node && !isOfPage(node)) node = node.nextSibling;
  return node;
}

/**
 * A key for each child: its id, the target of its first link, or its tag; and its number among the
 * children with the same.
 */
function withKey() {
  const seen = new Map();
  return (node) => {
    const name = nameOf(node);
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return [`${name} ${nth}`, node];
  };
}

function nameOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  if (node.id) return `${node.nodeName}#${node.id}`;
  if (node.nodeName === 'TR' || node.nodeName === 'LI') {
    const link = node.querySelector('a[href]');
    if (link) return `${node.nodeName} ${link.getAttribute('href')}`;
  }
  return node.nodeName;
}
