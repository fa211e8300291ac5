// Makes quantiles.txt: the bits of the quantiles 0/1000 to 999/1000 of Normal(0, 5), by the
// library that the published sampler asks for them. With Apache Commons Statistics 1.0, and
// what it depends on, in lib:
//
//	java -cp 'lib/*' Quantiles.java >quantiles.txt
import org.apache.commons.statistics.distribution.NormalDistribution;

class Quantiles {
    public static void main(String[] none) {
        var normal = NormalDistribution.of(0, 5);
        for (int s = 0; s < 1000; s++) {
            System.out.printf("%016x%n", Double.doubleToRawLongBits(normal.inverseCumulativeProbability(s / 1000.0)));
        }
    }
}
