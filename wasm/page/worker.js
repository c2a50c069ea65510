// The local session of a page, in a worker. The page's first message is the compiled module.

import init, { serve } from "./callgrove.js";

const module = await new Promise((come) => addEventListener("message", (event) => come(event.data), { once: true }));
await init({ module_or_path: module });
serve();
