module plimsoll

go 1.26.0

require github.com/HdrHistogram/hdrhistogram-go v1.4.0

require gonum.org/v1/gonum v0.17.0 // indirect
