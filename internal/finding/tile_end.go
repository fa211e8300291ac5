package finding

// TileEnd is why an arm carries no more tiles, by the probes of all its trials.
type TileEnd struct {
	Arm      int    `json:"arm"`
	Tiles    int    `json:"tiles"`    // that it did not carry: the fewest; without a reason, that it did: the most of the study
	Limiting string `json:"limiting"` // the limit that most of those probes missed, with its group: "elastic.p99"
	Reason   string `json:"reason"`   // how one of them missed it
}
