// The script of a shared page: the stage with its marks, and the text beside it.

import { readCodes } from "studio/plan.js";
import { Stage } from "studio/stage.js";

/** Build the page from the data that it holds. */
export async function open() {
  const view = JSON.parse(document.getElementById("shown")?.textContent ?? "{}");
  document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches
    ? "dark"
    : "light";
  const header = document.createElement("header");
  const title = document.createElement("h1");
  title.textContent = view.title;
  header.append(title);
  const main = document.createElement("main");
  const section = document.createElement("section");
  section.id = "view";
  const home = document.createElement("div");
  home.id = "plan";
  section.append(home);
  const panel = document.createElement("aside");
  panel.id = "panel";
  panel.innerHTML = view.panel ?? "";
  main.append(section, panel);
  document.body.append(header, main);
  if (view.picture) {
    const picture = new Image();
    picture.src = view.picture;
    picture.alt = view.title;
    home.append(picture);
    document.body.dataset.ready = "yes";
    return;
  }
  const stage = new Stage(home);
  stage.theme = document.documentElement.dataset.theme;
  if (view.image) {
    const { rows, columns, resolution, origin } = view.site;
    const codes = await readCodes(view.image, rows, columns);
    stage.setPlan({ codes, rows, columns, resolution, origin }, view.site.bounds);
  } else {
    stage.setPlan(null, view.site.bounds);
  }
  stage.setMarks(view.marks);
  if (view.view) Object.assign(stage.view, { x: view.view.x, y: view.view.y });
  document.body.dataset.ready = "yes";
}
