// Runs before anything is painted, so that users of the dark theme see no white flash. Not a
// module, because modules run after the page is parsed.
try {
  const theme = localStorage.getItem('berth.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the theme of the system.
}
