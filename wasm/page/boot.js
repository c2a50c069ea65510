// Loads the application, or says in plain words why this browser cannot run it.

const RELOAD = "Reload the page; if that does not help, ask whoever runs the server to look at its messages.";

function say(title, text, detail) {
    document.getElementById("message-title").textContent = title;
    document.getElementById("message-text").textContent = text;
    document.getElementById("message-detail").textContent = detail ?? "";
    document.getElementById("message").hidden = false;
}

function hasWebGl2() {
    const context = document.createElement("canvas").getContext("webgl2");
    // Browsers give few contexts, and the application wants one.
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
}

async function compiled(address) {
    const answer = await fetch(address);
    // Not every web server knows the type, and without it a browser does not compile what is still coming.
    return answer.headers.get("Content-Type") === "application/wasm"
        ? WebAssembly.compileStreaming(answer)
        : WebAssembly.compile(await answer.arrayBuffer());
}

async function boot() {
    if (typeof WebAssembly !== "object") {
        say("This browser does not run WebAssembly",
            "Callgrove needs it. Use a Firefox, Chrome, Edge or Safari of 2023 or later; where WebAssembly was switched "
            + "off (a strict security mode), allow it for this address.");
        return;
    }
    if (!hasWebGl2()) {
        say("This browser gives no WebGL 2",
            "Callgrove draws with it. Switch on hardware acceleration in the browser's settings, or start the browser "
            + "with a software renderer (Chrome and Edge: --enable-unsafe-swiftshader); on a remote desktop, run the "
            + "browser on your own machine and reach the server through a tunnel.");
        return;
    }
    try {
        const { default: init, start } = await import("./callgrove.js");
        const module = await compiled(new URL("./callgrove.wasm", import.meta.url));
        await init({ module_or_path: module });
        await start(() => {
            const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
            worker.postMessage(module);
            return worker;
        });
    } catch (error) {
        // A panic has its own words.
        if (document.getElementById("message-detail").textContent === "") {
            say("Callgrove could not be started", RELOAD, String(error));
        }
    }
}

boot();
