package remote

import "io"

// boundedBody is an answer that fails, instead of ending quietly, when more comes than may: for itself, or for all answers together.
type boundedBody struct {
	io.ReadCloser
	left  int64
	purse *purse
}

// Read reads what may still come.
func (b *boundedBody) Read(into []byte) (int, error) {
	most := b.purse.most(min(b.left, int64(len(into))))
	if most <= 0 && len(into) > 0 {
		return 0, b.ended()
	}
	n, err := b.ReadCloser.Read(into[:most])
	b.left -= int64(n)
	b.purse.pay(int64(n))
	return n, err
}

// ended tells an answer that fills its bound exactly from one that goes on.
func (b *boundedBody) ended() error {
	var one [1]byte
	for {
		n, err := b.ReadCloser.Read(one[:])
		if n > 0 {
			return errTooMuch
		}
		if err != nil {
			return err
		}
	}
}
