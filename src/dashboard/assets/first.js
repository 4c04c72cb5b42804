// Before anything is painted, so that nobody who chose dark sees a white flash. Not a module: those
// run when the page is there.
try {
  const theme = localStorage.getItem('berth.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No memory here: as the system says.
}
