// Opens a report in Chromium, uses it with the keyboard, and prints what was seen as one JSON document.
// `report.mjs OPTIONS`, where the options are JSON: `page` (the file), `profiles` (an empty directory for
// the browser's profiles), `words` (to search for), and `pictures` (a directory for screenshots) if wanted.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const options = JSON.parse(process.argv[2]);
const address = pathToFileURL(options.page).href;
const flags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const problems = [];
const requests = [];

async function withPage(profile, settings, use) {
  const context = await chromium.launchPersistentContext(join(options.profiles, profile), {
    executablePath: "/usr/bin/chromium",
    args: flags,
    viewport: { width: 1440, height: 900 },
    ...settings,
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  context.on("request", (request) => {
    if (request.url() !== address) requests.push(request.url());
  });
  try {
    await page.goto(address);
    return await use(page);
  } finally {
    await context.close();
  }
}

const picture = async (page, name) => {
  if (options.pictures) await page.screenshot({ path: join(options.pictures, `${name}.png`) });
};

// What the user can see.
const rows = (page) => page.locator("#table tbody tr:visible").count();
const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim().replace(/^\S\s+/, ""));
const opened = async (page) => {
  const summaries = await page.locator("details.agent[open] > summary:visible").allInnerTexts();
  return summaries.map((text) => text.replace(/\s+/g, " "));
};
const tip = (page) => page.locator("#tip").innerText();

// How well every kind of text can be read, and how far the bars differ, as contrasts of colours.
const contrasts = (page) => page.evaluate(() => {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = parts(colour).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) => {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return own && !element.closest("svg, script, style") && element.checkVisibility();
  });
  const worst = { contrast: 99, what: "" };
  for (const element of texts) {
    const found = contrast(getComputedStyle(element).color, behind(element));
    if (found < worst.contrast) Object.assign(worst, { contrast: found, what: `${element.localName}.${element.className}` });
  }
  const fill = (selector) => {
    const bar = document.querySelector(selector);
    return bar && getComputedStyle(bar).fill;
  };
  const [model, tool] = [fill(".bar.model"), fill(".bar.tool:not(.failed)")];
  return { text: worst, bars: model && tool ? contrast(model, tool) : null };
});

// Nothing leaves the window sideways.
const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

const seen = await withPage("with-script", { colorScheme: "light" }, async (page) => {
  const seen = { title: await page.title(), rows: await rows(page), opened: await opened(page) };
  seen.inert = await page.evaluate(() => ({
    wasRun: "wasRun" in window,
    scripts: document.scripts.length,
    styles: document.querySelectorAll("style, link").length,
    foreign: document.querySelectorAll("img, iframe, object, embed, form, [onclick], [onerror], [onload], [style*=url]").length,
    links: [...new Set([...document.links].map((link) => link.getAttribute("href")))].filter((link) => !link.startsWith("#agent-")),
  }));
  await picture(page, "overview-light");

  // To the rows, down one, along its bars, in, out.
  for (let count = 0; count < 20; count += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.closest("tbody") !== null)) break;
  }
  seen.first = await focused(page);
  await page.keyboard.press("ArrowDown");
  seen.second = await focused(page);
  await page.keyboard.press("ArrowRight");
  seen.tips = [await tip(page)];
  await page.keyboard.press("ArrowRight");
  seen.tips.push(await tip(page));
  await page.keyboard.press("Enter");
  seen.openedByEnter = await opened(page);
  seen.light = await contrasts(page);
  await picture(page, "opened-light");
  await page.keyboard.press("Escape");
  seen.openedAfterEscape = await opened(page);
  seen.focusedAfterEscape = await focused(page);

  // The search, from anywhere.
  await page.keyboard.press("/");
  await page.keyboard.type(options.words);
  seen.rowsFound = await rows(page);
  await page.keyboard.press("Enter");
  seen.selected = await page.evaluate(() => String(getSelection()));
  seen.openedBySearch = (await opened(page)).length;
  await picture(page, "search-light");
  await page.keyboard.press("Escape");
  seen.rowsAfterSearch = await rows(page);

  // Sorted by cost or by name, with a key.
  await page.getByRole("button", { name: "Agent" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  seen.sort = await page.locator("th[data-sort=name]").getAttribute("aria-sort");
  seen.firstSorted = (await page.locator("#table tbody tr").first().locator("a").innerText()).replace(/^\S\s+/, "");

  await page.emulateMedia({ colorScheme: "dark" });
  seen.dark = await contrasts(page);
  await picture(page, "opened-dark");
  await page.keyboard.press("Escape");
  await picture(page, "overview-dark");
  seen.fits = [await fits(page)];
  await page.setViewportSize({ width: 600, height: 900 });
  seen.fits.push(await fits(page));
  await picture(page, "narrow-dark");
  return seen;
});

// Without the script, a row leads to its conversation, which unfolds.
seen.withoutScript = await withPage("without-script", { javaScriptEnabled: false }, async (page) => {
  const rowCount = await rows(page);
  await page.locator("#table tbody a").last().click();
  await page.locator("details.agent[open] .entry").first().waitFor();
  return { rows: rowCount, opened: (await opened(page)).length };
});

console.log(JSON.stringify({ ...seen, problems, requests }));
