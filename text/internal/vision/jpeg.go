// JPEG: the sequence of segments.
//
// Go's own decoder rounds the inverse transform differently from libjpeg, by up to three grey
// levels. The preprocessing of models uses libjpeg. This decoder therefore transforms coefficients
// with libjpeg's integers, and returns the same pixels.
//
// jpeg_segments.go reads the segments, jpeg_scan.go the coefficients, jpeg_smooth.go estimates
// those that the file lacks, and jpeg_pixels.go computes the pixels.
//
// Source: ITU-T T.81 (1992).

package vision

import "encoding/binary"

// decodeJPEG decodes a file.
func decodeJPEG(data []byte) (*RGB, error) {
	j := &jpegFile{data: data[2:], adobe: -1}
	for {
		marker, body, err := j.next()
		if err != nil {
			return nil, err
		}
		switch {
		case marker == 0xd9: // end of image
			if j.components == nil {
				return nil, jpegError("no image")
			}
			return j.pixels()
		case marker == 0xc0 || marker == 0xc1 || marker == 0xc2:
			j.progressive = marker == 0xc2
			err = j.frame(body)
		case marker == 0xc4:
			err = j.huffmanTables(body)
		case marker >= 0xc3 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc:
			err = jpegError("lossless, hierarchical and arithmetic coding are not supported")
		case marker == 0xdb:
			err = j.quantTables(body)
		case marker == 0xdd && len(body) >= 2:
			j.restart = int(binary.BigEndian.Uint16(body))
		case marker == 0xda:
			err = j.scan(body)
		case j.scans > 0: // the markers below come too late
		case marker == 0xe0 && len(body) >= 14 && string(body[:5]) == "JFIF\x00":
			j.jfif = true
		case marker == 0xee && len(body) >= 12 && string(body[:5]) == "Adobe":
			j.adobe = int(body[11])
		}
		if err != nil {
			return nil, err
		}
	}
}

// jpegSize returns the size in the header of a file's frame.
func jpegSize(data []byte) (w, h int, err error) {
	j := &jpegFile{data: data[2:]}
	for {
		marker, body, err := j.next()
		switch {
		case err != nil:
			return 0, 0, err
		case marker == 0xd9 || marker == 0xda:
			return 0, 0, jpegError("no image")
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc && len(body) >= 5:
			return int(binary.BigEndian.Uint16(body[3:])), int(binary.BigEndian.Uint16(body[1:])), nil
		}
	}
}
