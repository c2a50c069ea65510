// Drives a real browser: what `tests/web.rs` asks for in its arguments, told back as one line of JSON.
//
// usage: node browser.mjs SCENARIO ADDRESS FOLDER [FILE..]

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const { chromium } = createRequire(import.meta.url)(process.env.CALLGROVE_PLAYWRIGHT);
const [scenario, address, folder, ...files] = process.argv.slice(2);

const PATIENCE_MS = Number(process.env.CALLGROVE_PATIENCE_MS ?? 120_000);
// Draws in software, so that every machine draws the same.
const FLAGS = [
    "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
];
const WITHOUT_WEBGL = ["--no-sandbox", "--disable-gpu", "--disable-3d-apis", "--disable-webgl", "--disable-webgl2"];

// The browser's own density: one that is only emulated does not reach the size of the canvas.
const DENSE = ["--force-device-scale-factor=2", "--window-size=1400,900"];

const isLight = scenario === "light";
// Chromium itself now and then dies while it starts, before it has seen any page.
async function launch(attempts) {
    const launched = chromium.launch({
        executablePath: "/usr/bin/chromium",
        args: scenario === "no-webgl" ? WITHOUT_WEBGL : [...FLAGS, ...(isLight ? DENSE : [])],
    });
    return attempts > 1 ? launched.catch(() => launch(attempts - 1)) : launched;
}
const browser = await launch(3);
const context = await browser.newContext({
    viewport: isLight ? null : { width: 1400, height: 900 },
    colorScheme: isLight ? "light" : "dark",
    hasTouch: scenario === "touch",
});
const told = { errors: [], violations: [], sentBytes: 0 };
await context.exposeFunction("tellViolation", (text) => told.violations.push(text));
await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation",
        (event) => window.tellViolation(`${event.violatedDirective} ${event.blockedURI}`));
});
const page = await context.newPage();
page.setDefaultTimeout(PATIENCE_MS);
page.on("console", (message) => {
    if (message.type() === "error") told.errors.push(message.text());
});
page.on("pageerror", (error) => told.errors.push(String(error)));
page.on("requestfinished", async (request) => {
    const sizes = await request.sizes().catch(() => null);
    told.sentBytes += sizes?.responseBodySize ?? 0;
});

// The outline: role, name, value and place of everything that is drawn and has a name.
const outline = (seen = page) => seen.evaluate(() => [...document.querySelectorAll("#outline > div")].map((it) => ({
    role: it.role ?? "",
    name: it.ariaLabel ?? it.textContent,
    value: it.ariaLabel === null ? null : it.textContent,
    current: it.ariaCurrent === "true",
    rect: ["left", "top", "width", "height"].map((side) => parseFloat(it.style[side])),
})));

async function waitFor(what, found, seen = page) {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
        const items = await outline(seen);
        const item = items.find(found);
        if (item !== undefined) return item;
        if (Date.now() > end) throw new Error(`no ${what} in ${JSON.stringify(items)}`);
        await seen.waitForTimeout(50);
    }
}

// The name may go on, as those in menus do with their keys.
async function click(role, name) {
    const item = await waitFor(name, (it) => it.role === role && it.name.startsWith(name));
    const [left, top, width, height] = item.rect;
    await page.mouse.click(left + width / 2, top + height / 2);
}

const waitForText = (text, seen = page) => waitFor(text, (it) => it.name.includes(text), seen);

async function ready() {
    await page.waitForSelector("#message", { state: "hidden" });
    await waitForText("Open a run");
}

// How many colours there are, and the share of each that is asked for (red, green, blue).
async function look(name, ...wanted) {
    const picture = await page.screenshot({ path: join(folder, `${name}.png`) });
    const probe = await browser.newPage();
    const seen = await probe.evaluate(async ([picture, wanted]) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, 0, image.width, image.height);
        const colors = new Set();
        const counts = wanted.map(() => 0);
        for (let at = 0; at < data.length; at += 4) {
            colors.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
            wanted.forEach((color, index) => {
                counts[index] += color.every((part, place) => Math.abs(part - data[at + place]) <= 6);
            });
        }
        return { size: [image.width, image.height], colors: colors.size, counts };
    }, [picture.toString("base64"), wanted]);
    await probe.close();
    return seen;
}

async function openDemo() {
    const start = Date.now();
    await click("button", "Demo");
    await waitForText("196 trees");
    return Date.now() - start;
}

async function drop(file) {
    const content = readFileSync(file).toString("base64");
    const transfer = await page.evaluateHandle(([name, content]) => {
        const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
        const transfer = new DataTransfer();
        transfer.items.add(new File([bytes], name));
        return transfer;
    }, [basename(file), content]);
    await page.dispatchEvent("#canvas", "drop", { dataTransfer: transfer });
}

// By the browser's dialog.
async function choose(file) {
    const [dialog] = await Promise.all([page.waitForEvent("filechooser"), click("button", "Browse…")]);
    await dialog.setFiles(file);
}

// A browser says on its console that it could not connect.
function forgetLostServer() {
    const ofServer = ["WebSocket connection to", "Failed to load resource"];
    told.errors = told.errors.filter((text) => !ofServer.some((words) => text.startsWith(words)));
}

const scenarios = {
    // From nothing to a label that a reload does not lose.
    async demo() {
        const start = Date.now();
        await page.goto(address);
        await ready();
        told.readyMs = Date.now() - start;
        told.start = await outline();
        told.startLook = await look("start");
        told.demoMs = await openDemo();
        told.opened = await outline();
        told.title = await page.title();
        told.icon = await page.getAttribute("#icon", "href");
        told.status = await page.textContent("#status");
        await page.waitForTimeout(500);
        told.look = await look("demo", [0xff, 0x7a, 0x1f]);
        // Two incidents, with the executions that each hit.
        await page.keyboard.press("x");
        await waitForText("4 labels");
        await page.keyboard.press("n");
        await waitForText("6 labels");
        await page.reload();
        await ready();
        await openDemo();
        await waitForText("6 labels");
        told.reloaded = await outline();
        told.bytesAfterReload = told.sentBytes;
    },
    // Two pages on one session, whose server ends and comes back: `files` are what to write when.
    async served() {
        const [down, up] = files;
        const other = await context.newPage();
        other.setDefaultTimeout(PATIENCE_MS);
        other.on("pageerror", (error) => told.errors.push(String(error)));
        const start = Date.now();
        await page.goto(address);
        await waitForText("196 trees");
        told.openMs = Date.now() - start;
        await other.goto(address);
        await waitForText("196 trees", other);
        told.opened = await outline();
        told.title = await page.title();
        // The executions of the first incident, then while nobody answers those of the second.
        await page.keyboard.press("x");
        const count = (it) => /([1-9]\d*) labels?$/.exec(it.name)?.[1];
        const first = count(await waitFor("labels", count));
        // Scores follow when the labels are learned.
        const waitForLabels = (number, seen) => waitFor(`${number} labels`, (it) => count(it) === number, seen);
        await waitForLabels(first, other);
        writeFileSync(down, "");
        await waitForText("Trying again");
        await page.keyboard.press("n");
        await waitForText("to be sent");
        await look("away");
        writeFileSync(up, "");
        const second = count(await waitFor("more labels", (it) => count(it) !== undefined && count(it) !== first));
        await waitForLabels(second, other);
        told.labels = [first, second].map(Number);
        await page.reload();
        await waitForLabels(second);
        told.look = await look("served", [0xff, 0x7a, 0x1f]);
        forgetLostServer();
    },
    // The server comes back with another token; the last of `files` is its new address.
    async "locked-out"() {
        const [down, up, letIn] = files;
        await page.goto(address);
        // The token leaves the address first.
        await page.waitForURL((url) => url.search === "");
        await page.waitForSelector("#message", { state: "hidden" });
        await waitForText("196 trees");
        writeFileSync(down, "");
        await waitForText("Trying again");
        await page.keyboard.press("x");
        await waitForText("to be sent");
        writeFileSync(up, "");
        await waitForText("wants another token");
        await look("locked-out");
        await (await context.newPage()).goto(letIn);
        // Learned on the server that came back.
        await waitFor("a label", (it) => /[1-9]\d* labels?$/.test(it.name));
        await page.waitForFunction(() => !document.body.textContent.includes("Trying again"));
        forgetLostServer();
    },
    // A folder on any web server: `files` names it.
    async exported() {
        const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", wasm: "application/wasm" };
        const server = createServer((request, response) => {
            const name = request.url === "/" ? "index.html" : basename(request.url);
            try {
                const content = readFileSync(join(files[0], name));
                response.setHeader("Content-Type", types[name.split(".").pop()] ?? "application/octet-stream");
                response.end(request.method === "HEAD" ? "" : content);
            } catch {
                response.writeHead(404).end();
            }
        });
        await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
        server.unref();
        const start = Date.now();
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        await waitForText("196 trees");
        told.openMs = Date.now() - start;
        await waitFor("an incident", (it) => it.role === "listitem" && it.name.startsWith("Incident"));
        told.opened = await outline();
        await page.keyboard.press("x");
        const labels = /([1-9]\d*) labels?$/;
        const labelled = (await waitFor("labels", (it) => labels.test(it.name))).name;
        await page.reload();
        await waitForText(labelled);
        told.status = await page.textContent("#status");
        await look("exported");
    },
    // A link leads to what was looked at; back and forward lead through it.
    async link() {
        const other = await context.newPage();
        other.setDefaultTimeout(PATIENCE_MS);
        await page.goto(address);
        await waitForText("196 trees");
        const trees = (seen) => new URLSearchParams(new URL(seen.url()).hash.slice(1)).get("trees");
        const stands = async (wanted, seen = page) => {
            const end = Date.now() + PATIENCE_MS;
            while (!wanted(trees(seen))) {
                if (Date.now() > end) throw new Error(`the address is ${seen.url()}`);
                await seen.waitForTimeout(50);
            }
            return trees(seen);
        };
        // The costliest incident comes forward by itself.
        await page.waitForFunction(() => location.hash.includes("incident="));
        told.first = trees(page);
        await page.keyboard.press(".");
        told.second = await stands((it) => it !== told.first);
        await page.keyboard.press(".");
        told.third = await stands((it) => it !== told.second);
        told.link = page.url();
        await other.goto(told.link);
        await waitForText("196 trees", other);
        await other.waitForTimeout(1000);
        told.byLink = await stands((it) => it === told.third, other);
        await page.goBack();
        told.back = await stands((it) => it === told.second);
        await page.goForward();
        told.forward = await stands((it) => it === told.third);
        await look("link");
    },
    // Two fingers on the timeline: apart they show less time, side by side another time; one finger moves it too.
    async touch() {
        await page.goto(address);
        await waitForText("196 trees");
        await page.waitForFunction(() => location.hash.includes("incident="));
        const hand = await context.newCDPSession(page);
        const time = () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("time")?.split("..").map(Number);
        const [left, top, width, height] = (await waitFor("the timeline", (it) => it.name.startsWith("Timeline"))).rect;
        // Fingers by where they begin and end, as shares of the timeline's width.
        const move = async (...fingers) => {
            const touchPoints = (share) => fingers.map(([from, to], id) => ({
                id, x: left + width * (from + (to - from) * share), y: top + height * (0.6 + 0.1 * id),
            }));
            await hand.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: touchPoints(0) });
            for (let step = 1; step <= 10; step++) {
                await hand.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: touchPoints(step / 10) });
                await page.waitForTimeout(30);
            }
            await hand.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
            await page.waitForTimeout(1000);
            return time();
        };
        told.first = time();
        told.apart = await move([0.5, 0.4], [0.6, 0.8]);
        told.aside = await move([0.6, 0.4], [0.7, 0.5]);
        told.back = await move([0.4, 0.6]);
        await look("touch");
    },
    // A running job: nothing is there until it starts, when `files` says so.
    async live() {
        const [go] = files;
        await page.goto(address);
        await page.waitForFunction(() => document.getElementById("status").textContent.startsWith("Watching"));
        told.before = await outline();
        writeFileSync(go, "");
        const rank = (it) => /^rank \d+, /.test(it.name);
        await waitFor("a rank", rank);
        await waitForText("Run is over");
        told.title = await page.title();
        await look("live");
        const incidents = await waitFor("Incidents", (it) => it.name === "Incidents" && it.role === "button");
        await page.mouse.click(incidents.rect[0] + 5, incidents.rect[1] + 5);
        const stop = await waitFor("a stop", (it) => /rank \d+ stood still/.test(it.name));
        told.incident = stop.name;
        await look("live-incidents");
        const [left, top, width, height] = (await waitFor("a rank", rank)).rect;
        await page.mouse.click(left + width / 2, top + height / 2);
        await waitForText("Scatter plot of");
        await page.keyboard.press(".");
        await page.keyboard.press("x");
        await waitFor("a label", (it) => /\b1 label\b|Abnormal/.test(it.name));
        await page.waitForTimeout(500);
        told.records = await outline();
        await look("live-records");
        // What the job recorded is compared, where there was nothing before.
        await page.keyboard.press("2");
        await click("button", "Open the recorded executions");
        await waitForText(" trees");
        await waitForText("Map of executions");
        await look("live-trees");
    },
    // Light, at twice the density, opened from the outline as a screen reader does it.
    async light() {
        await page.goto(address);
        await ready();
        told.startLook = await look("start-light", [0xf4, 0xf4, 0xf4]);
        await page.evaluate(() => [...document.querySelectorAll("#outline > [role=button]")]
            .find((it) => it.textContent === "Demo").click());
        await waitForText("196 trees");
        await page.waitForTimeout(500);
        told.look = await look("light");
        told.density = await page.evaluate(() => {
            const canvas = document.getElementById("canvas");
            return [devicePixelRatio, canvas.width / canvas.clientWidth, canvas.height / canvas.clientHeight];
        });
        await click("button", "File");
        const [download] = await Promise.all([
            page.waitForEvent("download"),
            click("button", "Save the model…"),
        ]);
        told.download = download.suggestedFilename();
    },
    // Files from the person's disk, whole and cut.
    async files() {
        await page.goto(address);
        await ready();
        for (const file of files) {
            await drop(file);
            await page.waitForFunction((name) => document.title.startsWith(name)
                || document.getElementById("status").textContent.includes(name), basename(file));
        }
        told.status = await page.textContent("#status");
        told.title = await page.title();
        await look("files");
    },
    // Large files, of which the last one is good.
    async large() {
        await page.goto(address);
        await ready();
        told.refused = [];
        for (const file of files.slice(0, -1)) {
            await choose(file);
            await page.waitForFunction((name) => document.getElementById("status").textContent.includes(name), basename(file));
            told.refused.push(await page.textContent("#status"));
        }
        await look("large-refused");
        await choose(files.at(-1));
        await waitForText("Reading the trace");
        told.reading = await outline();
        await look("large");
        await page.waitForFunction((name) => document.title.startsWith(name), basename(files.at(-1)));
    },
    // A large file is given up while it is read; what was open before comes back.
    async stop() {
        const [small, large] = files;
        await page.goto(address);
        await ready();
        await drop(small);
        await waitForText("196 trees");
        await page.waitForTimeout(1000);
        await drop(large);
        await click("button", "Cancel");
        await page.waitForFunction(() => document.title.startsWith("small"));
        await waitForText("196 trees");
        // Nothing of the other one is still on its way.
        await page.waitForTimeout(3000);
        told.title = await page.title();
        told.ended = await outline();
        await look("stop");
    },
    // What a browser gets that is not let in, or cannot draw.
    async message() {
        const response = await page.goto(address);
        told.code = response.status();
        told.text = await page.textContent("body");
    },
    async "no-webgl"() {
        await page.goto(address);
        await page.waitForFunction(() => document.getElementById("message-title").textContent !== "Callgrove");
        told.text = await page.textContent("#message");
        await look("no-webgl");
    },
    // The program panics: its browser has no clock any more.
    async panic() {
        await page.goto(address);
        await ready();
        await page.evaluate(() => Object.defineProperty(window, "performance", { value: undefined }));
        await page.mouse.move(300, 300);
        await page.waitForSelector("#message", { state: "visible" });
        told.text = await page.textContent("#message");
        await look("panic");
    },
    // In by the token of the address, which is gone afterwards.
    async token() {
        await page.goto(address);
        await ready();
        told.address = page.url();
        told.cookies = await context.cookies();
        told.visible = await page.evaluate(() => document.cookie);
        await look("token");
    },
};

try {
    await scenarios[scenario]();
    console.log(JSON.stringify(told));
} catch (error) {
    await page.screenshot({ path: join(folder, `${scenario}-failed.png`) }).catch(() => {});
    console.error(error, JSON.stringify(told));
    process.exitCode = 1;
} finally {
    await browser.close();
}
