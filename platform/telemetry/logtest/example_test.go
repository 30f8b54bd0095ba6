package logtest_test

import (
	"fmt"
	"log/slog"

	"example.com/plenary/platform/telemetry/logtest"
)

func Example() {
	var log logtest.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("coming")
	logger.Warn("late", "by", "train")
	fmt.Println(len(log.Lines("level=WARN")), len(log.Lines("level=")))
	// Output: 1 2
}
