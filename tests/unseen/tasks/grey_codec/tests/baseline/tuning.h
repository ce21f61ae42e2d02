#ifndef TUNING_H
#define TUNING_H

/* Prediction: a weighted sum of known neighbours, in sixteenths. */
#define W_LEFT 8
#define W_UP 8
#define W_UPLEFT 0
#define W_UPRIGHT 0

/* Rice coding: the parameter follows a running mean of the mapped residuals. */
#define MEAN_START 24 /* first guess of the mean */
#define MEAN_RATE 7   /* the mean moves by 1 / 2^MEAN_RATE of the difference */
#define ESCAPE 20     /* longest run of ones; then the value follows in 8 bits */

#endif
