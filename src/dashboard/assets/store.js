// What a browser remembers for a person. Some forbid it; then it is forgotten with the page.

export function remembered(key) {
  try {
    return localStorage.getItem(`berth.${key}`);
  } catch {
    return null;
  }
}

/** @param {?string} value null: forget it */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(`berth.${key}`);
    else localStorage.setItem(`berth.${key}`, value);
  } catch {
    // Nothing to be done, and nothing is lost but comfort.
  }
}
