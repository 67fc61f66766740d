"""`scipy.stats`: distributions and statistics."""

from __future__ import annotations

from ._followed import followed
from ._namespace import namespace
from ._stats import OURS

OURS |= followed(
    "scipy.stats",
    """
    spearmanr pointbiserialr tmean tvar tstd tsem tmin tmax sigmaclip
    ttest_1samp ttest_ind ttest_rel f_oneway bartlett levene alexandergovern power_divergence chisquare
    combine_pvalues boxcox boxcox_llf yeojohnson yeojohnson_llf directional_stats gstd gzscore
    quantile scoreatpercentile kstat kstatvar lmoment expectile describe rankdata mode
    ttest_ind_from_stats jarque_bera skewtest kurtosistest normaltest theilslopes obrientransform binned_statistic
    energy_distance differential_entropy false_discovery_control probplot
""",
)

__getattr__, __dir__ = namespace(__name__, OURS)
