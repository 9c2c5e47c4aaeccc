package runnerlog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Tee returns a logger that writes to log, and also adds the lines to the journal:
// from slog.LevelInfo up, or lower where log does.
func (c *Collector) Tee(log *slog.Logger) *slog.Logger {
	text := &attributeFormatter{}
	text.handler = slog.NewTextHandler(&text.buffer,
		&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: onlyAttributes})
	return slog.New(handler{journal: c, next: log.Handler(), formatter: text, attributes: text.handler})
}

// handler is a slog.Handler in front of another one.
type handler struct {
	journal    *Collector
	next       slog.Handler
	formatter  *attributeFormatter
	attributes slog.Handler // writes to words
}

// attributeFormatter formats a record's attributes as text, one record at a time.
type attributeFormatter struct {
	mutex   sync.Mutex
	buffer  bytes.Buffer
	handler slog.Handler
}

// onlyAttributes removes the fields that have their own place in a line.
func onlyAttributes(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.formatter.mutex.Lock()
	h.formatter.buffer.Reset()
	err := h.attributes.Handle(ctx, r)
	text := strings.TrimSpace(r.Message + " " + strings.TrimSpace(h.formatter.buffer.String()))
	h.formatter.mutex.Unlock()
	if err == nil {
		h.journal.add(r.Time, levelOf(r.Level), text)
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	h.next, h.attributes = h.next.WithAttrs(attributes), h.attributes.WithAttrs(attributes)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.next, h.attributes = h.next.WithGroup(name), h.attributes.WithGroup(name)
	return h
}

func levelOf(level slog.Level) api.LogLineL {
	switch {
	case level >= slog.LevelError:
		return api.Error
	case level >= slog.LevelWarn:
		return api.Warn
	case level >= slog.LevelInfo:
		return api.Info
	}
	return api.Debug
}
