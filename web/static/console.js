// The operators' pages: the same page again every two seconds.

import { refresh, watch } from "./live.js";

watch((signal) => refresh(location.href, signal), 2000);
