package cifar

import _ "embed"

// Answers are the test images that a model classifies correctly, a bit for each in their order,
// the lowest bit of a byte first.
type Answers []byte

// The answers of models whose files are known. They were the same with ONNX Runtime and with the
// Go engine.
var (
	//go:embed answers/small.bits
	smallAnswers []byte
	//go:embed answers/cnn.bits
	cnnAnswers []byte
	//go:embed answers/resnet20.bits
	resnetAnswers []byte
)

// known are the answers by the SHA-256 of the model's file.
var known = map[string]Answers{
	"9c9db2e81cadf742cc9476caa487df9824d900a6b84b4b85b5328a7025d42750": smallAnswers,
	"2576f3b6599b2c98977ac64d4052726a8d4b6304e7ed4a957be8c4e8953e3e13": cnnAnswers,
	"9927e405a9754fac252b2921f4443d707f2e4406369d46b9a68d47598de3fb6c": resnetAnswers,
}

// Expected are the answers of a model, by the SHA-256 of its file; nil if they are not known.
func Expected(model string) Answers { return known[model] }

// Correct is the number of correct answers to the images from..to-1 of the test set.
func (a Answers) Correct(from, to int) (n int) {
	for i := from; i < to; i++ {
		if a.Right(i) {
			n++
		}
	}
	return n
}

// Right reports whether the answer to an image is correct.
func (a Answers) Right(i int) bool { return a[i/8]>>(i%8)&1 == 1 }
