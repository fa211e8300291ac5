package truth

import (
	"math"
	"math/rand/v2"
)

// position is where a trial stands.
type position struct {
	trial, slot int
	last        bool // the arm with the effect
}

// noise is what a testbed does to the logarithm of a trial's value. draw makes the
// noise of one study, which is asked for its trials in order.
type noise struct {
	name string
	draw func(r *rand.Rand) func(position) float64
	// stolen makes the share of CPU time that the hypervisor gives to others in each trial, which slows it stolenSlope times as much; nil for
	// none. hidden says that the records do not have it.
	stolen func(r *rand.Rand) func() float64
	hidden bool
}

// trialSD is the standard deviation of a trial, where a noise says no other.
const trialSD = 0.02

func value(noise, effect float64, changed bool) float64 {
	if changed {
		noise += math.Log1p(effect)
	}
	return 1000 * math.Exp(noise)
}

const stolenSlope = 3

// bursts is a share that lasts for some trials: 30 % of trials begin another, exponential with a mean.
func bursts(mean float64) func(*rand.Rand) func() float64 {
	return func(r *rand.Rand) func() float64 {
		level := mean * r.ExpFloat64()
		return func() float64 {
			if r.Float64() < 0.3 {
				level = mean * r.ExpFloat64()
			}
			return level
		}
	}
}

// each is noise that is drawn for each trial.
func each(draw func(r *rand.Rand, at position) float64) func(*rand.Rand) func(position) float64 {
	return func(r *rand.Rand) func(position) float64 {
		return func(at position) float64 { return draw(r, at) }
	}
}

func normalTrial(r *rand.Rand, _ position) float64 { return trialSD * r.NormFloat64() }

// student is Student's t with 3 degrees of freedom, scaled to the standard
// deviation of a trial.
func student(r *rand.Rand, _ position) float64 {
	var chi float64
	for range 3 {
		v := r.NormFloat64()
		chi += v * v
	}
	return trialSD * r.NormFloat64() / math.Sqrt(chi)
}

// slow makes a share of trials slower by 20 %.
func slow(share float64, of func(*rand.Rand, position) float64) func(*rand.Rand, position) float64 {
	return func(r *rand.Rand, at position) float64 {
		v := of(r, at)
		if r.Float64() < share {
			v += math.Log(0.8)
		}
		return v
	}
}

// memory is noise of which each trial keeps a part of the one before.
func memory(phi float64, rare float64) func(*rand.Rand) func(position) float64 {
	return func(r *rand.Rand) func(position) float64 {
		last := r.NormFloat64()
		return func(position) float64 {
			last = phi*last + math.Sqrt(1-phi*phi)*r.NormFloat64()
			v := trialSD * last
			if r.Float64() < rare {
				v += math.Log(0.8)
			}
			return v
		}
	}
}

func drifting(r *rand.Rand, at position) float64 {
	return normalTrial(r, at) + 0.10*float64(at.trial)/48
}

// secondSlot makes every trial but the first of its block faster by 2 %.
func secondSlot(sd float64) func(*rand.Rand, position) float64 {
	return func(r *rand.Rand, at position) float64 {
		v := sd * r.NormFloat64()
		if at.slot > 1 {
			v += math.Log(1.02)
		}
		return v
	}
}

// chosenOn are the noises on which the method was chosen.
var chosenOn = []noise{
	{name: "normal, 2 %", draw: each(normalTrial)},
	{name: "Student's t with 3 degrees of freedom, 2 %", draw: each(student)},
	{name: "normal, 2 %; 1 trial in 10 is 20 % slower", draw: each(slow(0.10, normalTrial))},
	{name: "normal, 0.2 %; the second slot is 2 % faster", draw: each(secondSlot(0.002))},
	{name: "normal, 2 %; linear drift of 10 % in 24 blocks", draw: each(drifting)},
	{name: "autocorrelation 0.9, 2 %", draw: memory(0.9, 0)},
}

// aside is a design under a noise that no choice was made on.
type aside struct {
	design design
	noise  noise
}

func setAside() []aside {
	bimodal := func(r *rand.Rand, _ position) float64 {
		v := trialSD / 2 * r.NormFloat64()
		if r.Float64() < 0.5 {
			v += 2 * trialSD
		}
		return v
	}
	oneArm := func(r *rand.Rand, at position) float64 {
		v := normalTrial(r, at)
		if at.last && r.Float64() < 0.1 {
			v -= 0.1 * math.Exp(0.5*r.NormFloat64())
		}
		return v
	}
	unequal := func(r *rand.Rand, at position) float64 {
		if at.last {
			return 2 * normalTrial(r, at)
		}
		return normalTrial(r, at)
	}
	quiet := each(func(r *rand.Rand, at position) float64 { return normalTrial(r, at) / 2 })
	rare := each(slow(0.10, func(r *rand.Rand, at position) float64 { return normalTrial(r, at) / 2 }))
	busy, busier := bursts(.006), bursts(.02)
	normal := chosenOn[0]
	slotted := noise{name: "normal, 2 %; the first slot is 2 % slower", draw: each(secondSlot(trialSD))}
	three, four := design{"3 arms", 3, []string{"rate"}, false}, design{"4 arms", 4, []string{"rate"}, false}
	two := design{"2 headlines", 2, []string{"rate", "other"}, false}
	split := design{"split plots, 2 x 2 arms", 2, []string{"rate"}, true}
	return []aside{
		{plainDesign, noise{name: "normal, 0.5 %", draw: each(func(r *rand.Rand, at position) float64 { return normalTrial(r, at) / 4 })}},
		{plainDesign, noise{name: "normal, 5 %", draw: each(func(r *rand.Rand, at position) float64 { return normalTrial(r, at) * 2.5 })}},
		{plainDesign, noise{name: "two modes 4 % apart, each 1 %", draw: each(bimodal)}},
		{plainDesign, noise{name: "normal, 2 %; 15 in 100 trials are 20 % slower", draw: each(slow(0.15, normalTrial))}},
		{plainDesign, noise{name: "normal, 2 %; 1 in 10 of one arm is slower by about 10 % (lognormal)", draw: each(oneArm)}},
		{plainDesign, noise{name: "normal, 2 % in one arm and 4 % in the other", draw: each(unequal)}},
		{plainDesign, noise{name: "drift of 10 %; 1 trial in 10 is 20 % slower", draw: each(slow(0.10, drifting))}},
		{plainDesign, noise{name: "autocorrelation 0.9; 1 trial in 10 is 20 % slower", draw: memory(0.9, 0.1)}},
		{plainDesign, noise{name: "autocorrelation -0.5, 2 %", draw: memory(-0.5, 0)}},
		{plainDesign, noise{name: "autocorrelation -0.9, 2 %", draw: memory(-0.9, 0)}},
		{plainDesign, noise{name: "normal, 1 %; stolen CPU time, 1.8 %, not known", draw: quiet, stolen: busy, hidden: true}},
		{plainDesign, noise{name: "the same, known", draw: quiet, stolen: busy}},
		{plainDesign, noise{name: "normal, 1 %; stolen CPU time, 6 %, not known", draw: quiet, stolen: busier, hidden: true}},
		{plainDesign, noise{name: "the same, known", draw: quiet, stolen: busier}},
		{plainDesign, noise{name: "1 %, 1 trial in 10 is 20 % slower; stolen CPU time, 6 %, not known", draw: rare, stolen: busier, hidden: true}},
		{plainDesign, noise{name: "the same, known", draw: rare, stolen: busier}},
		{three, normal}, {three, slotted}, {three, chosenOn[2]},
		{four, normal}, {four, slotted},
		{two, normal}, {two, chosenOn[2]},
		{split, normal}, {split, slotted},
	}
}
