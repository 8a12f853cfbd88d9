// The first steps of the page, when all else is defined.

tabs.forEach((t) => {
  t.addEventListener("click", () => choose(t.dataset.for));
  t.addEventListener("keydown", turn);
});
$("#shade").addEventListener("click", () => {
  const root = document.documentElement.style;
  const dark = (root.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.colorScheme = dark ? "light" : "dark";
});
$("#key").addEventListener("change", models);
models();
