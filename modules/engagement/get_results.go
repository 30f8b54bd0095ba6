package engagement

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"example.com/plenary/platform/command"
)

// GetResults asks for a poll's result, to be taken along.
type GetResults struct{ ID uuid.UUID }

// Policy lets hosts take results along.
func (GetResults) Policy() command.Policy {
	return command.Policy{Name: "engagement.get_results", Permission: PermissionHost}
}

func (m *Module) getResults(ctx context.Context, q GetResults) (Poll, error) {
	return loadPoll(ctx, m.source, q.ID)
}

type getResultsInput struct {
	ID uuid.UUID `path:"id"`
}

// getResultsCSV names options and votes, and nobody who has voted.
func (m *Module) getResultsCSV(w http.ResponseWriter, r *http.Request, in getResultsInput) error {
	p, err := m.GetResults(r.Context(), GetResults(in))
	if err != nil {
		return err
	}
	text, err := resultsCSV(p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="poll-%s.csv"`, p.ID))
	_, err = w.Write(text)
	return err
}

func resultsCSV(p Poll) ([]byte, error) {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	rows := [][]string{{"question", "option", "votes", "percent"}}
	for _, o := range p.Options {
		percent := "0.0"
		if p.Voters > 0 {
			percent = strconv.FormatFloat(100*float64(o.Votes)/float64(p.Voters), 'f', 1, 64)
		}
		rows = append(rows, []string{cell(p.Question), cell(o.Text), strconv.Itoa(o.Votes), percent})
	}
	if err := out.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	return text.Bytes(), nil
}

// cell keeps a spreadsheet from running what somebody has typed: a text that it would take for a formula begins with an
// apostrophe. A space before the formula does not hide it.
func cell(text string) string {
	if first := strings.TrimLeft(text, " \u00a0"); first != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", []rune(first)[0]) {
		return "'" + text
	}
	return text
}
