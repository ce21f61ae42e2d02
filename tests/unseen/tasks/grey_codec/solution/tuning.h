#ifndef TUNING_H
#define TUNING_H

#define EXPERTS 6       /* the last is a blend of the others */
#define FIT_NEAR 3      /* radius of the smaller least-squares fit (4 taps) */
#define FIT_FAR 5       /* and of the larger (6 taps) */
#define FIT_FADE 0.92   /* weight of a sample per pixel of distance */
#define FIT_SOFT 4.0    /* similar surroundings count more */
#define FIT_RIDGE 3.0
#define WIDTH 0.60      /* logistic scale per mean error */
#define PULL 4.0        /* how much the mean error of the image counts against the errors nearby */
#define TRUST 4.0       /* sharpness of the choice among predictors */

#endif
