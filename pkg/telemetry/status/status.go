// Package status is where the long-lived goroutines of a program say what they do, so that a person who looks at /debug/status sees
// at once which of them waits for what, and since when. It owns the board and its page; it watches nobody and decides nothing. The
// loops of the reconciler and of runnerd call it, by the board in their context; without one their words go nowhere.
package status

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Board holds the tasks of one program. It is safe for concurrent use.
type Board struct {
	mu    sync.Mutex
	tasks map[*Task]struct{}
}

// NewBoard makes an empty board.
func NewBoard() *Board { return &Board{tasks: map[*Task]struct{}{}} }

type boardKey struct{}

// On gives a context whose goroutines are on the board.
func (b *Board) On(ctx context.Context) context.Context { return context.WithValue(ctx, boardKey{}, b) }

// Task is one goroutine on the board. A nil Task takes every word and keeps none.
type Task struct {
	board *Board
	state State
}

// State is what a task last said.
type State struct {
	Name string `json:"name"`
	// Waits tells whether it waits; else it works.
	Waits bool `json:"waits"`
	// What it waits for ("for the next sweep") or works at ("taking what is due").
	What  string    `json:"what"`
	Since time.Time `json:"since"`
	// Error is the last thing that went wrong, at ErrorAt; it stays until something went well.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Enter puts the calling goroutine on the board of ctx; nil when there is none. It says Leave when it ends.
func Enter(ctx context.Context, name string) *Task {
	b, _ := ctx.Value(boardKey{}).(*Board)
	if b == nil {
		return nil
	}
	t := &Task{board: b, state: State{Name: name, What: "starting", Since: time.Now()}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks[t] = struct{}{}
	return t
}

// Leave takes the task off the board.
func (t *Task) Leave() {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	delete(t.board.tasks, t)
}

// Waits says what the goroutine waits for from now on: "for the next sweep".
func (t *Task) Waits(what string) { t.say(true, what) }

// Works says what the goroutine is doing from now on: "taking what is due".
func (t *Task) Works(what string) { t.say(false, what) }

func (t *Task) say(waits bool, what string) {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	t.state.Waits, t.state.What, t.state.Since = waits, what, time.Now()
}

// Came says how what the goroutine did came out: an error is shown until something went well.
func (t *Task) Came(err error) {
	if t == nil {
		return
	}
	t.board.mu.Lock()
	defer t.board.mu.Unlock()
	if err == nil {
		t.state.Error, t.state.ErrorAt = "", time.Time{}
		return
	}
	t.state.Error, t.state.ErrorAt = err.Error(), time.Now()
}

// Tasks are all that are on the board, by name.
func (b *Board) Tasks() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]State, 0, len(b.tasks))
	for t := range b.tasks {
		all = append(all, t.state)
	}
	slices.SortFunc(all, func(x, y State) int { return cmp.Or(cmp.Compare(x.Name, y.Name), x.Since.Compare(y.Since)) })
	return all
}
