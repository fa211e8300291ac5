package report

// figures lists every figure in the order of the page.
func figures() []Figure {
	return []Figure{
		forest(), tuningFigure(),
		bars(), rateLatency(), scaleOut(), machines(), loadLatency(), percentiles(), timeSeries(), runs(), counters(), otherMetrics(), metricsTable(), sight(),
		published(), trials(), noise(),
	}
}
