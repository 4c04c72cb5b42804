// Settings that the browser keeps for the user. If storage is forbidden, they end with the page.

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
    // No storage: the setting ends with the page.
  }
}
