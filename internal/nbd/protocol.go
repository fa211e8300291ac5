package nbd

// Numbers of the protocol, as its document gives them.
const (
	magicInit   = 0x4e42444d41474943 // "NBDMAGIC"
	magicOption = 0x49484156454f5054 // "IHAVEOPT"
	magicAnswer = 0x3e889045565a9
	magicAsk    = 0x25609513
	magicReply  = 0x67446698

	flagFixed    = 1 << 0 // of the handshake, both sides
	flagNoZeroes = 1 << 1

	optExportName = 1
	optAbort      = 2
	optList       = 3
	optInfo       = 6
	optGo         = 7

	repAck            = 1
	repServer         = 2
	repInfo           = 3
	repErrUnsupported = 1<<31 + 1
	repErrInvalid     = 1<<31 + 3
	repErrUnknown     = 1<<31 + 6
	repErrTooBig      = 1<<31 + 9

	infoExport    = 0
	infoName      = 1
	infoBlockSize = 3

	exportFlags    = 1 << 0 // of an export: the flags are valid
	exportReadOnly = 1 << 1
	exportFlush    = 1 << 2
	exportFUA      = 1 << 3
	exportTrim     = 1 << 5
	exportZero     = 1 << 6
	exportMulti    = 1 << 8 // a flush on one connection covers writes on all

	askFUA    = 1 << 0 // of a request
	askNoHole = 1 << 1

	askSize   = 28 // size of a request's header
	replySize = 16 // size of a reply's header

	// longestData is the maximum data of one request, the size that clients may use without
	// negotiation.
	longestData = 32 << 20
	// longestOption is the maximum data of an option in bytes. A name has at most 4096.
	longestOption = 16 << 10
	longestName   = 4096
	// mostOptions is the maximum number of options in a handshake.
	mostOptions = 1000
)
