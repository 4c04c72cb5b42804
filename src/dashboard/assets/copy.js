// The copy buttons of commands. The server's pages have them hidden, because they need a script.

const SHOWN_MS = 1500;

export function addCopyButtons() {
  for (const button of document.querySelectorAll('button[data-copy][hidden]')) {
    button.hidden = false;
    button.dataset.own = 'kept';
    button.addEventListener('click', copy);
  }
}

async function copy(event) {
  const button = event.currentTarget;
  const code = button.closest('.command').querySelector('code');
  const done = await put(code);
  button.textContent = done ? 'Copied ✓' : 'Press Ctrl-C';
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SHOWN_MS);
}

/** Without access to the clipboard (plain HTTP to another machine), the text is selected instead. */
async function put(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}
