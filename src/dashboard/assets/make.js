// Creates elements. Values become attributes and texts, never markup.

/**
 * @param {string} tag
 * @param {Object<string, string|number|boolean|EventListener>} [attributes] false: left out; true:
 *   there without a value; a function: listens to that event
 * @param {...(Node|string|number)} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

/** A button that is not in the server's page, because it needs a script. */
export function makeButton(label, attributes, onClick) {
  return make(
    'button',
    { type: 'button', 'data-own': 'added', ...attributes, click: onClick },
    label,
  );
}

/** The element for the modules' buttons, in the order in which they are made. */
export function toolbar() {
  return document.getElementById('tools');
}

/** 4,203; 0.84; 1,234.5: like the server, whatever the browser's language is. */
export function number(value, digits = 2) {
  return value.toLocaleString('en-GB', { maximumFractionDigits: digits });
}
