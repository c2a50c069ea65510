// Loads the application, or shows why this browser cannot run it.

const RELOAD = "Reload the page. If that does not help, ask the server's operator to check its log.";

function showMessage(title, text, detail) {
    document.getElementById("message-title").textContent = title;
    document.getElementById("message-text").textContent = text;
    document.getElementById("message-detail").textContent = detail ?? "";
    document.getElementById("message").hidden = false;
}

function hasWebGl2() {
    const context = document.createElement("canvas").getContext("webgl2");
    // Browsers limit the number of contexts, and the application needs one.
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return context !== null;
}

async function compiled(address) {
    const answer = await fetch(address);
    // Not every web server sends this type, and streaming compilation requires it.
    return answer.headers.get("Content-Type") === "application/wasm"
        ? WebAssembly.compileStreaming(answer)
        : WebAssembly.compile(await answer.arrayBuffer());
}

async function boot() {
    if (typeof WebAssembly !== "object") {
        showMessage("This browser does not support WebAssembly",
            "Callgrove needs it. Use a Firefox, Chrome, Edge or Safari of 2023 or later; where WebAssembly is disabled "
            + "(a strict security mode), allow it for this address.");
        return;
    }
    if (!hasWebGl2()) {
        showMessage("This browser does not support WebGL 2",
            "Callgrove draws with it. Enable hardware acceleration in the browser's settings, or start the browser "
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
        // After a panic, its message is shown already.
        if (document.getElementById("message-detail").textContent === "") {
            showMessage("Could not start Callgrove", RELOAD, String(error));
        }
    }
}

boot();
