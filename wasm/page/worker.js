// The session of a page that is alone, beside the page's own thread. The page sends it its module first.

import init, { serve } from "./callgrove.js";

const module = await new Promise((come) => addEventListener("message", (event) => come(event.data), { once: true }));
await init({ module_or_path: module });
serve();
