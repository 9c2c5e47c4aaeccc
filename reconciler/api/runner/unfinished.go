package runner

import (
	"context"
	"net/http"

	"github.com/nuon-toolkit/nuon/reconciler/api/problem"
)

var unfinished = problem.New(http.StatusNotImplemented, "unfinished", "this is being built", "")

func (handlers) RotateKey(context.Context, RotateKeyRequestObject) (RotateKeyResponseObject, error) {
	return nil, unfinished
}
