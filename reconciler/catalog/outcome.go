package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// maxOutcomeLength bounds the stored summary of a revision, in bytes.
const maxOutcomeLength = 4000

// WriteOutcome adds sentences about an app to the summary of a revision, without repeating any. It adds
// otherwise if there are no sentences and the summary has none about the app.
func WriteOutcome(ctx context.Context, tx *store.Tx, revisionID, app string, sentences []string,
	otherwise string) error {
	revision, err := tx.LockRevision(ctx, tx.Org, revisionID)
	if err != nil {
		return fmt.Errorf("record the outcome of revision %s: %w", revisionID, err)
	}
	outcome := mergeOutcome(revision.Outcome, app, sentences, otherwise)
	if outcome == revision.Outcome {
		return nil
	}
	return tx.SetRevisionOutcome(ctx, outcome, tx.Org, revisionID)
}

// mergeOutcome returns the text of a summary: one line per app that has read the revision, with its
// sentences separated by semicolons.
func mergeOutcome(outcome, app string, sentences []string, otherwise string) string {
	var lines []string
	if outcome != "" {
		lines = strings.Split(outcome, "\n")
	}
	head := outcomeHead(app)
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, head) })
	if at < 0 && len(sentences) == 0 && otherwise != "" {
		sentences = []string{otherwise}
	}
	for _, sentence := range sentences {
		sentence = strings.ReplaceAll(sentence, "\n", " ")
		switch {
		case at < 0:
			lines = append(lines, head+sentence)
			at = len(lines) - 1
		case !strings.Contains(lines[at], sentence):
			lines[at] += "; " + sentence
		}
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxOutcomeLength {
		return outcome
	}
	return text
}

// outcomeHead returns the start of the line about an app in a summary.
func outcomeHead(app string) string { return "app " + app + ": " }

// OutcomeOf returns the part of a revision's summary that is about one app, or "".
func OutcomeOf(outcome, app string) string {
	for line := range strings.SplitSeq(outcome, "\n") {
		if strings.HasPrefix(line, outcomeHead(app)) {
			return line
		}
	}
	return ""
}
