// Puts a box above a table of names; only the rows that hold all the words typed there stay.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.names")) {
    const box = document.createElement("input");
    box.type = "search";
    box.className = "names-filter form-control";
    box.placeholder = "Filter: a name, or a part of one, of any library";
    box.setAttribute("aria-label", box.placeholder);
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const filter = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const [row, text] of rows) row.hidden = !words.every((word) => text.includes(word));
    };
    box.addEventListener("input", filter);
    const above = table.closest(".pst-scrollable-table-container") ?? table;
    above.before(box);
    box.value = new URLSearchParams(location.search).get("name") ?? "";
    filter();
  }
});
