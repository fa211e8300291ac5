package finding

// Fault is failed operations of one kind in an arm, void trials included: a trial may be void because of them.
type Fault struct {
	Arm    int    `json:"arm"`
	Name   string `json:"name"`   // as the workload calls it, such as "migrate: TaskInProgress"
	Count  int64  `json:"count"`  // in the windows of all trials
	Trials int    `json:"trials"` // with such a fault
}
