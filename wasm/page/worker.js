// The session of a page that is alone, beside the page's own thread.

import init, { serve } from "./callgrove.js";

await init({ module_or_path: new URL("./callgrove.wasm", import.meta.url) });
serve();
