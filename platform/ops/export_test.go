package ops

import "time"

// Redact is what the detail shows of a payload.
var Redact = redact

// GiveUpPurgesAfter changes how long a purge may take.
func (c *Console) GiveUpPurgesAfter(d time.Duration) { c.purgeLimit = d }
