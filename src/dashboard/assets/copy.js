// The buttons of commands, to take them along. Pages have them hidden: without a script they do
// nothing.

const SAYS_SO_MS = 1500;

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
  }, SAYS_SO_MS);
}

/** Where the clipboard is not to be had (plain HTTP to another machine), the text is selected. */
async function put(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}
