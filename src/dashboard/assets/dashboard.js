// Makes the pages live. Every page is complete without this; the modules only save reloading,
// scrolling and typing. They set text as text everywhere: no name of a pod ever becomes markup.

import { startAges } from './ages.js';
import { addThemeButton } from './theme.js';
import { addCopyButtons } from './copy.js';
import { addSorting } from './sort.js';
import { addKeys } from './keys.js';
import { startHeat } from './heat.js';
import { startWhatIf } from './whatif.js';
import { startLive } from './live.js';

/**
 * Adds buttons to the server's markup. Called again after every update, so it skips elements that
 * have them.
 */
function decorate() {
  addCopyButtons();
  addSorting();
}

// On a small screen the row of pages scrolls: the current page must be visible in it.
document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' });

const live = startLive(decorate);
startAges();
addThemeButton();
decorate();
addKeys(live);
startHeat(live);
startWhatIf(decorate);
